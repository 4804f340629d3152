; The flag rises at the third instruction of the noops.
    configure program_counter, 0
    configure tracepoint, 3
    noop
    noop
    noop
    noop
