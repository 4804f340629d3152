//! The Target trait: what an accelerator gives npukit.
