//! What lowerings share: memory planning and cost-driven choice.
