/** Gives the event loop a turn within a long request, so that others are answered meanwhile. */

/** Resolves in a later turn of the event loop, after pending input and output was handled. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => void setImmediate(resolve))
}
