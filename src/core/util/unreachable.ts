/** Ends every exhaustive switch: the compiler proves that the case cannot happen. Throws if it happens. */
export function unreachable(value: never): never {
  throw new Error(`unreachable case of type ${typeof value}`)
}
