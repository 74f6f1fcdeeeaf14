/** The entry point "strongroom/adopt": an existing plaintext table, adopted into a vault while the application runs. */
export {}
