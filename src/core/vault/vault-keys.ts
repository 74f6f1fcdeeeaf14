/** The keys of a vault, as an application looks at them, rotates, wraps again and destroys them. */
import { newestVersion } from '../catalog/catalog-entries.ts'
import { type Catalog, fingerprintOf } from '../catalog/open-catalog.ts'
import { fault, say, words } from '../errors.ts'
import type { SessionContext } from '../execution/context.ts'
import { perform } from '../execution/perform.ts'
import type { Jobs } from '../maintenance/jobs.ts'
import { type KeyStep, keyStep } from '../operations/change-keys.ts'
import { type Caller, VAULT_CALLER } from '../policy/caller.ts'
import type { Hash, RootKeyState } from '../ports/crypto.ts'
import type { StorageHandle } from '../ports/storage.ts'
import type { Clock, Scheduler } from '../ports/time.ts'
import { changeKeys, type KeyChangePorts, removeRootKey } from '../rotation/change-keys.ts'
import type { Opening, Openings } from '../rotation/openings.ts'
import { countBodies } from '../rotation/reseal-pass.ts'
import { type Rewrapping, rewrapKeys } from '../rotation/rewrap-keys.ts'
import { type KeyRotation, rotateKeys } from '../rotation/rotate-keys.ts'
import { preparedPlaces } from '../rotation/sealed-places.ts'
import type { Signal } from '../util/signal.ts'
import { nowMs } from '../util/time.ts'
import type { OutsideCalls, WatchOptions } from './outside-calls.ts'

/** A root key. Times are in milliseconds since 1970. */
export interface VaultKey {
  readonly version: number
  /** `lookup`: makes ids, tokens and digests, and never seals. `active`: seals. `pending`: will seal. `retired`: opens what it sealed. */
  readonly state: RootKeyState
  /** When it got this state. */
  readonly since: number
  /** Bodies that it seals, by the table that holds them; absent unless they were counted. */
  readonly bodies?: Readonly<Record<string, number>>
}

/** The keys of a vault. */
export interface KeyReport {
  /** 64 hex digits, for the option `keyFingerprint`. */
  readonly fingerprint: string
  /** By rising version. */
  readonly keys: readonly VaultKey[]
  readonly destroyed: readonly { readonly version: number; readonly at: number }[]
  /** True from the activation of a key until all bodies were sealed again: `rotateKeys` goes on then. */
  readonly isRotating: boolean
  /** The processes that have the vault open and do not know the newest key. They learn it with their next write; a killed one is listed for 30 days. */
  readonly stragglers: readonly Opening[]
}

/** Options of `vault.keys`. */
export interface KeysOptions extends Pick<WatchOptions, 'signal'> {
  /** True to count the bodies that each key seals, which reads all of them. Default false. */
  readonly count?: boolean
}

/** Options of `vault.rotateKeys`. */
export interface RotateKeysOptions extends WatchOptions {
  /** Milliseconds between the time when other processes can learn of the new key and that when it seals: the longest time between two calls of any of them. They then need no key service at the change. Default 0. */
  readonly settleMs?: number
  /** True to change nothing, and to count what would be sealed again. Default false. */
  readonly dryRun?: boolean
}

/** Options of `vault.destroyKey`. */
export interface DestroyKeyOptions extends Pick<WatchOptions, 'signal'> {
  /** The exact number of bodies that are lost with the key, because they do not open. Default 0: the key stays while a body names it. */
  readonly losing?: number
}

/** The methods for keys. */
export interface VaultKeys {
  /** Returns the root keys, their states, and who does not know the newest. Throws `unavailable` if the storage cannot be reached. */
  keys(options?: KeysOptions): Promise<KeyReport>
  /**
   * Replaces the root key that seals, and seals everything again with the new one, beside readers and writers. Ended early, by an error, an abort or a kill,
   * the next call goes on. Throws `failed_precondition` while it runs in another process, `unavailable` if the key service or the storage is away or a
   * transaction keeps writing for a minute, and `cancelled`. Digests, ids and tokens stay. Source: docs/keys.md.
   */
  rotateKeys(options?: RotateKeysOptions): Promise<KeyRotation>
  /** Wraps the root keys again with the current key-encryption key, so that the one before can be destroyed, and with it every backup that was made under it. */
  rewrapKeys(): Promise<Rewrapping>
  /**
   * Destroys a retired root key. Throws `failed_precondition` for another one, and while a body is sealed with it, which is counted first. A backup from
   * before is opened no more by this vault; it has its own copy of the key, which `rewrapKeys` and the end of the key-encryption key destroy.
   */
  destroyKey(version: number, options?: DestroyKeyOptions): Promise<{ readonly version: number; readonly lost: number }>
}

/** The dependencies of the methods for keys. */
export interface KeyPorts extends KeyChangePorts {
  readonly storage: StorageHandle
  readonly catalog: Catalog
  readonly hash: Hash
  readonly clock: Clock
  readonly scheduler: Scheduler
  readonly outside: OutsideCalls
  readonly jobs: Jobs
  readonly openings: Openings
  contextOf(caller: Caller): SessionContext
}

export function createVaultKeys(ports: KeyPorts): VaultKeys {
  const { storage, catalog, hash, outside, jobs, openings } = ports
  return {
    keys: (given) =>
      outside.watch({ verb: 'Keys', given, others: ['count'] }, async ({ signal }, { count = false }) => {
        assertBoolean(count, 'count')
        await catalog.reload(storage)
        const { roots, since, destroyed, isResealing } = catalog.state
        const bodies = count ? await bodiesByKey(ports, signal) : undefined
        const newest = newestVersion({ roots })
        return {
          fingerprint: fingerprintOf(hash, catalog.state),
          keys: roots.map(({ version, state }) => ({
            version,
            state,
            since: since[version] ?? 0,
            ...(bodies !== undefined && { bodies: bodies.get(version) ?? {} }),
          })),
          destroyed,
          isRotating: isResealing || roots.some(({ state }) => state === 'pending'),
          stragglers: (await openings.list()).filter(({ newestKey }) => newestKey < newest),
        }
      }),
    rotateKeys: (given) =>
      outside.watch(
        { verb: 'Rotation', given, others: ['settleMs', 'dryRun'] },
        async (watch, { settleMs = 0, dryRun = false }) => {
          assertBoolean(dryRun, 'dryRun')
          assertSettleMs(settleMs, 0)
          if (dryRun) return plannedRotation(ports, watch.signal)
          return jobs.run({ kind: 'rotateKeys', exclusive: true }, watch, (job) =>
            rotateKeys(
              { ...ports, record: (step, version) => recordStep(ports, 'ROTATE_KEYS', { step, version }) },
              job,
              settleMs,
            ),
          )
        },
      ),
    rewrapKeys: () =>
      outside.run('Rewrapping failed.', async () => {
        const { versions, ...result } = await rewrapKeys(ports, catalog)
        for (const version of versions) await recordStep(ports, 'REWRAP_KEYS', { step: 'rewrapped', version })
        return result
      }),
    destroyKey: (version, given) =>
      outside.watch({ verb: 'Destroying the key', given, others: ['losing'] }, async ({ signal }, { losing = 0 }) => {
        if (!Number.isSafeInteger(version)) throw fault('invalid_request')`The version of a root key must be an integer.`
        if (!Number.isSafeInteger(losing) || losing < 0) throw fault('invalid_request')`losing must be an integer from 0.`
        await catalog.reload(storage)
        const lost = await changeKeys(ports, catalog, async () => {
          assertRetired(catalog, version)
          const tables = (await bodiesByKey(ports, signal)).get(version) ?? {}
          const count = Object.values(tables).reduce((sum, bodies) => sum + bodies, 0)
          if (count !== losing) throw stillNeeded(version, tables, count)
          await removeRootKey(ports, catalog, version, nowMs(ports))
          return count
        })
        await recordStep(ports, 'DESTROY_KEY', { step: 'destroyed', version })
        return { version, lost }
      }),
  }
}

/** Records a step of a change of keys, by the vault itself. */
export async function recordStep(
  { contextOf }: Pick<KeyPorts, 'contextOf'>,
  action: Parameters<typeof keyStep>[0],
  step: KeyStep,
): Promise<void> {
  await perform(contextOf(VAULT_CALLER), keyStep(action), step)
}

const MAX_SETTLE_MS = 24 * 60 * 60_000

/** Throws `invalid_request` for a time to wait for other processes that is out of range. */
export function assertSettleMs(settleMs: number, least: number): void {
  if (Number.isSafeInteger(settleMs) && settleMs >= least && settleMs <= MAX_SETTLE_MS) return
  throw fault('invalid_request')`settleMs must be an integer from ${least} to ${MAX_SETTLE_MS}.`
}

function assertBoolean(value: unknown, name: string): void {
  if (typeof value !== 'boolean') throw fault('invalid_request')`${words(name)} must be true or false.`
}

/** What the state of a key that cannot be destroyed says to an operator. */
const STATES = {
  active: 'active: rotate first',
  pending: 'pending: call rotateKeys, which goes on',
  lookup: 'one that looks up: finishLookups ends it after rotateLookups',
} as const satisfies Record<Exclude<RootKeyState, 'retired'>, string>

/** Throws `failed_precondition` for a root key that is not retired. */
function assertRetired({ state: { roots, destroyed } }: Catalog, version: number): void {
  const state = roots.find((root) => root.version === version)?.state
  if (state === 'retired') return
  if (state !== undefined)
    throw fault('failed_precondition')`Root key ${version} is ${words(STATES[state])}. Only a retired one can be destroyed.`
  throw destroyed.some((key) => key.version === version)
    ? fault('failed_precondition')`Root key ${version} was destroyed before.`
    : fault('not_found')`The vault has no such root key. vault.keys() lists them.`
}

function stillNeeded(version: number, tables: Readonly<Record<string, number>>, count: number) {
  const list = words(
    Object.entries(tables)
      .map(([table, bodies]) => `${table} ${bodies}`)
      .join(', ') || 'none',
  )
  const reason = say`Root key ${version} still seals ${count} bodies (${list}), and losing must be their number.`
  return fault('failed_precondition')`${reason} Call rotateKeys first: only bodies that do not open remain after it.`
}

/** Returns the number of bodies of each table, by the version of the key that seals them. */
async function bodiesByKey(ports: KeyPorts, signal: Signal | undefined): Promise<ReadonlyMap<number, Record<string, number>>> {
  const byKey = new Map<number, Record<string, number>>()
  for (const place of await preparedPlaces(ports.storage, ports.catalog.state)) {
    for (const [version, count] of await countBodies({ ...ports, signal }, place)) {
      const tables = byKey.get(version) ?? {}
      tables[place.name] = count
      byKey.set(version, tables)
    }
  }
  return byKey
}

/** Returns what a rotation would do now. */
async function plannedRotation(ports: KeyPorts, signal: Signal | undefined): Promise<KeyRotation> {
  await ports.catalog.reload(ports.storage)
  const { state } = ports.catalog
  const resealed: Record<string, number> = {}
  for (const tables of (await bodiesByKey(ports, signal)).values())
    for (const [table, count] of Object.entries(tables)) resealed[table] = (resealed[table] ?? 0) + count
  const pending = state.roots.find((root) => root.state === 'pending')
  return { version: pending?.version ?? newestVersion(state) + 1, resealed, unreadable: 0, complete: false }
}
