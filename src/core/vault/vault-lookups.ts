/** The rotation of look-up keys, as an application asks for it: its beginning, the map of ids and tokens, and its end. */
import type { LiveSchema } from '../catalog/live-schema.ts'
import { requireTable } from '../execution/check-input.ts'
import { perform } from '../execution/perform.ts'
import { schemaChangeStep } from '../operations/change-schema.ts'
import { VAULT_CALLER } from '../policy/caller.ts'
import type { RotationPorts } from '../rotation/rotate-keys.ts'
import {
  finishLookups,
  type LookupRotation,
  type LookupsFinished,
  MIN_SETTLE_MS,
  rotateLookups,
} from '../rotation/rotate-lookups.ts'
import { hasFormerTokens, type MappedRecord, mapFormerTokens, mapTokens } from '../rotation/token-map.ts'
import type { ReadingContext } from '../row-access/evaluate-access.ts'
import type { SchemaDefinition } from '../schema/column.ts'
import type { TableName } from '../schema/infer.ts'
import { readOptions } from '../util/options.ts'
import { nowMs } from '../util/time.ts'
import type { WatchOptions } from './outside-calls.ts'
import { assertSettleMs, type KeyPorts, recordStep } from './vault-keys.ts'

/** Options of `vault.rotateLookups`. */
export interface RotateLookupsOptions extends WatchOptions {
  /** Milliseconds between the time when other processes can learn of the new key and that when the first digest changes: more than the longest read of any of them. Default and least: 15,000. */
  readonly settleMs?: number
}

/** The methods for look-up keys. */
export interface VaultLookups<S extends SchemaDefinition = SchemaDefinition> {
  /**
   * Replaces the root key of ids, tokens, digests, cursors and bearers, beside readers and writers. Then new ones are of the new key, and both are accepted
   * until `finishLookups`. Ended early, by an error, an abort or a kill, the next call goes on. Rarely right: such a key opens no record. Throws
   * `failed_precondition` while it runs in another process, `unavailable`, and `cancelled`. Source: docs/keys.md.
   */
  rotateLookups(options?: RotateLookupsOptions): Promise<LookupRotation>
  /**
   * Yields the id and the tokens of each record as they were and as they are, in the order of insertion: between `rotateLookups` and `finishLookups`, and after a
   * change of the schema that gave columns other tokens, until the move `finish`. Tokens that stay are left out. Records one event. Throws
   * `failed_precondition` at another time.
   */
  tokenMap(options: { readonly table: TableName<S> }): AsyncIterable<MappedRecord>
  /**
   * Ends what `rotateLookups` began: compares every digest, and destroys the older key. Its ids, tokens, cursors and bearers no longer resolve. Throws
   * `failed_precondition` while a digest of it remains, or if no rotation has ended.
   */
  finishLookups(options?: WatchOptions): Promise<LookupsFinished>
}

/** The dependencies of the methods for look-up keys. */
type LookupPorts = KeyPorts & Pick<ReadingContext, 'barrier'> & { readonly live: LiveSchema }

export function createVaultLookups(ports: LookupPorts): VaultLookups {
  const { storage, outside, jobs } = ports
  const rotating: RotationPorts = { ...ports, record: (step, version) => recordStep(ports, 'ROTATE_LOOKUPS', { step, version }) }
  return {
    rotateLookups: (given) =>
      outside.watch(
        { verb: 'Rotation', given, others: ['settleMs'] },
        (watch, { settleMs = MIN_SETTLE_MS }: RotateLookupsOptions) => {
          assertSettleMs(settleMs, MIN_SETTLE_MS)
          return jobs.run({ kind: 'rotateLookups', exclusive: true }, watch, (job) => rotateLookups(rotating, job, settleMs))
        },
      ),
    tokenMap: (given) =>
      outside.stream('Token map', () => {
        const { table: name } = readOptions(given, ['table'], { of: 'tokenMap' })
        return mapRecorded(name)
      }),
    finishLookups: (given) =>
      outside.watch({ verb: 'Finishing', given }, (watch) =>
        jobs.run({ kind: 'rotateLookups', exclusive: true }, watch, (job) => finishLookups(rotating, job, nowMs(ports))),
      ),
  }

  async function* mapRecorded(name: string): AsyncGenerator<MappedRecord> {
    const table = requireTable(ports.live, name)
    if (hasFormerTokens(table)) {
      const { generation } = ports.catalog.state
      await perform(ports.contextOf(VAULT_CALLER), schemaChangeStep, { step: 'mapped', generation })
      yield* mapFormerTokens(storage, ports, table)
      return
    }
    const { lookupVersion: version } = ports.barrier.ring
    await recordStep(ports, 'ROTATE_LOOKUPS', { step: 'mapped', version, table: name })
    yield* mapTokens(storage, ports, table)
  }
}
