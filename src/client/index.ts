/** The entry point "strongroom/client": a vault over HTTP, with the session of the library. */
export {}
