/** The end of every exhaustive switch: a case the compiler proved cannot happen. */
export function unreachable(value: never): never {
  throw new Error(`unreachable case of type ${typeof value}`)
}
