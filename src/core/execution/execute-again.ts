/** Runs an operation again when it met a catalog or a root key that another process changed. */
import { OUTDATED, UNKNOWN_KEY } from '../barrier/barrier.ts'
import { attempt } from '../util/attempt.ts'
import type { OperationContext } from './context.ts'

/**
 * Runs work again that failed with `first`, after the catalog was read again, if another process changed it: nothing was stored then.
 * Otherwise throws `first`. A key that is unknown after that, too, is not the catalog's: its bodies fail authentication.
 */
export async function executeAgain<T>(
  context: OperationContext,
  first: unknown,
  work: (context: OperationContext) => Promise<T>,
): Promise<T> {
  if (!OUTDATED.is(first)) throw first
  let current = context
  let failure = first
  return attempt([OUTDATED], async () => {
    await context.catalog.reload(context.unit.storage)
    if (failure === UNKNOWN_KEY) {
      const { entropy, vault, ring, destroyed = [], reportMismatch } = context.barrier
      current = { ...context, barrier: { entropy, vault, ring, destroyed, reportMismatch } }
    }
    try {
      return await work(current)
    } catch (error) {
      failure = error
      throw error
    }
  })
}
