/** The entry point "strongroom/transfer": records in and out, and whole vaults from one storage to another. */
export {}
