/** Runs an operation again when it met a catalog or a root key that another process changed. */
import { CATALOG_MOVED, UNKNOWN_KEY } from '../barrier/barrier.ts'
import { fault } from '../errors.ts'
import { attempt, type Reason } from '../util/attempt.ts'
import type { OperationContext } from './context.ts'

/** Maximum number of attempts of an operation, if other processes keep changing the catalog. */
const MAX_ATTEMPTS = 10

/** Retries work that met a catalog or a key of which this process does not know yet. */
const RELOADING: Reason = {
  is: isOutdated,
  most: MAX_ATTEMPTS,
  lastWord: () => fault('aborted')`Other processes kept changing the schema or the keys of the vault. Retry.`,
}

function isOutdated(error: unknown): boolean {
  return error === CATALOG_MOVED || error === UNKNOWN_KEY
}

/**
 * Runs work again that failed with `first`, after the catalog was read again, if another process changed it: nothing was stored then.
 * Otherwise throws `first`. A key that is unknown after that, too, is not the catalog's: its bodies fail authentication.
 */
export async function executeAgain<T>(
  context: OperationContext,
  first: unknown,
  work: (context: OperationContext) => Promise<T>,
): Promise<T> {
  if (!isOutdated(first)) throw first
  let current = context
  let failure = first
  return attempt([RELOADING], async () => {
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
