/** Asks the key provider again and again whether it still hands out the key of an open vault, so that a key that is withdrawn closes the vault. */
import { isKeyError, type RootKeyPorts, unwrapAgain } from '../catalog/key-errors.ts'
import { isVaultError } from '../errors.ts'
import type { RootKeySet } from '../ports/crypto.ts'
import type { Log } from '../ports/observability.ts'
import type { StorageReads } from '../ports/storage.ts'
import type { Stopwatch, Timer } from '../ports/time.ts'

/** What is watched, and what happens then. */
export interface KeyWatchPorts extends RootKeyPorts {
  readonly timer: Timer
  readonly stopwatch: Stopwatch
  readonly log: Log | undefined
  readonly catalog: { readonly keys: RootKeySet; reload(storage: StorageReads): Promise<void> }
  /** Called once, when the provider refuses the key. */
  withdraw(): void
}

/** Looks every `intervalMs` milliseconds, counted from the start of the last look, if that took no longer. Returns a function that ends it. */
export function watchKey(ports: KeyWatchPorts, intervalMs: number): () => void {
  const { timer, stopwatch, log } = ports
  let isOver = false
  let stopTimer = (): void => {}
  const later = (milliseconds: number): void => {
    stopTimer = timer.after(milliseconds, () => void look())
  }
  const look = async (): Promise<void> => {
    const began = stopwatch.now()
    const failure = await lookOnce(ports)
    if (isOver) return
    if (failure?.isRefused === true) {
      isOver = true
      return ports.withdraw()
    }
    // A service that is away says nothing about the key.
    if (failure !== undefined) log?.warn({ code: failure.code }, 'key not checked; the vault works on')
    later(Math.max(0, intervalMs - (stopwatch.now() - began)))
  }
  later(intervalMs)
  return () => {
    isOver = true
    stopTimer()
  }
}

/** Returns why the key was not unwrapped; undefined if it was. Never throws. */
async function lookOnce(ports: KeyWatchPorts): Promise<{ code: string; isRefused: boolean } | undefined> {
  const { catalog, storage } = ports
  try {
    const active = catalog.keys.roots.find(({ state }) => state === 'active')?.version ?? 0
    // Absent after a rotation of which this process has not heard.
    if (!(await unwrapAgain(ports, active))) await catalog.reload(storage)
    return undefined
  } catch (error) {
    return {
      code: isVaultError(error) ? error.code : 'internal',
      isRefused: isKeyError(error) && error.code === 'failed_precondition',
    }
  }
}
