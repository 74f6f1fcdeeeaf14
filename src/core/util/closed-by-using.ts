/** What `await using` closes at the end of its block. Compilers without that symbol see a type without it. */

/** Has `Symbol.asyncDispose`, which does what `close` does. */
export type ClosedByUsing = typeof Symbol extends { readonly asyncDispose: infer Key extends symbol }
  ? { readonly [Name in Key]: () => Promise<void> }
  : object
