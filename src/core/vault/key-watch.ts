/** Asks the key provider again and again whether it still hands out the key of an open vault, so that a key that is withdrawn closes the vault. */
import { isKeyError, knownErrors } from '../catalog/key-errors.ts'
import { rootAssociatedData, rootEntry } from '../catalog/root-keys.ts'
import { isVaultError } from '../errors.ts'
import type { KeyProvider, RootKeySet, WrappedKey } from '../ports/crypto.ts'
import type { Log } from '../ports/observability.ts'
import type { StorageReads } from '../ports/storage.ts'
import type { Stopwatch, Timer } from '../ports/time.ts'
import { CATALOG } from '../schema/system-tables.ts'
import { sameBytes } from '../util/bytes.ts'

/** What is watched, and what happens then. */
export interface KeyWatchPorts {
  readonly keys: KeyProvider
  readonly storage: StorageReads
  readonly vaultId: string
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

/** Unwraps the stored root key of an open vault once more, and wipes it. Returns false if no such key is stored. Throws as `knownErrors` does. */
async function unwrapAgain(ports: KeyWatchPorts, version: number): Promise<boolean> {
  const keys = knownErrors(ports.keys, true)
  const associatedData = rootAssociatedData(ports.vaultId, version)
  let wrapped = await storedRoot(ports, version)
  while (wrapped !== undefined) {
    try {
      const key = await keys.unwrap(wrapped, associatedData)
      key.fill(0)
      return true
    } catch (error) {
      // Another process may have wrapped it anew meanwhile, so that the key that wrapped it before could go.
      const current = await storedRoot(ports, version)
      if (current?.keyId === wrapped.keyId && sameBytes(current.bytes, wrapped.bytes)) throw error
      wrapped = current
    }
  }
  return false
}

async function storedRoot({ storage }: KeyWatchPorts, version: number): Promise<WrappedKey | undefined> {
  const filter = { kind: 'compare', column: 'entry', operator: '=', value: rootEntry(version) } as const
  const [row] = await storage.find(CATALOG.name, filter, { order: 'asc', limit: 1, newest: true })
  const keyId = row?.key_id
  const content = row?.content
  return typeof keyId === 'string' && content instanceof Uint8Array ? { keyId, bytes: content } : undefined
}
