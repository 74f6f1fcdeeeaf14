/** The entry point "strongroom/config": the type of strongroom.config.ts. */
export {}
