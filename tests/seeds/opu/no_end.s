; There is no `end`.
    @stride [1,1]
