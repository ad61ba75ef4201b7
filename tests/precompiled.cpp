// Nothing: a target needs a source to have a precompiled header that the test programs share.
