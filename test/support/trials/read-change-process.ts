/** A process whose writers read a counter or a set and write the whole back. Started by read-change-trial.ts; prints what it did as JSON. */
import { isVaultError } from '../../../src/index.ts'
import { randomFor, type SeededRandom } from '../random/seeded-random.ts'
import { openStorage, type StorageAddress } from '../storages/open-storage.ts'
import { OWNER } from '../vaults/test-vault.ts'
import { beginTogether } from './begin-together.ts'
import { openTallies, type Tallies, type Tally } from './tallies.ts'

/** What a process is started with, as JSON in its first argument. */
export interface ReadChangeProcess {
  readonly address: StorageAddress
  readonly name: string
  readonly seed: string
  readonly writers: number
  readonly milliseconds: number
  /** Ids of the tallies that all writers change. */
  readonly ids: readonly string[]
  /** Breaks the promise on purpose, for the negative control: neither a transaction nor a version. */
  readonly isBlind: boolean
}

/** What a process did. */
export interface ReadChangeResult {
  /** The entries that were stored in each tally. */
  readonly stored: Record<string, string[]>
  /** Changes that were aborted, in the end or on the way. */
  aborted: number
  /** Errors that no writer should get. */
  readonly unexpected: string[]
}

const options: ReadChangeProcess = JSON.parse(process.argv[2] ?? '')
const vault = await openTallies(openStorage(options.address))
const result: ReadChangeResult = { stored: {}, aborted: 0, unexpected: [] }
await beginTogether()
const until = performance.now() + options.milliseconds

/** Reads a tally in one of several ways. */
async function read(session: Tallies, id: string, random: SeededRandom): Promise<Tally> {
  const way = random.below(3)
  if (way === 0) return (await session.getOne('tallies', id)).fields
  if (way === 1) return (await session.get('tallies')).records.find((record) => record.id === id)?.fields ?? {}
  const { records } = await session.query('SELECT count, entries FROM tallies WHERE svc_id = $1', [id])
  return (records[0]?.fields ?? {}) as Tally
}

function changed({ count, entries }: Tally, entry: string): { count: number; entries: string[] } {
  return { count: Number(count) + 1, entries: [...(Array.isArray(entries) ? entries.map(String) : []), entry] }
}

async function inTransaction(id: string, entry: string, random: SeededRandom): Promise<void> {
  await vault.transaction(async (inside) => {
    const session = inside.as(OWNER)
    await session.updateOne('tallies', id, changed(await read(session, id, random), entry))
  })
}

async function withVersion(id: string, entry: string): Promise<void> {
  const session = vault.as(OWNER)
  const { fields, version } = await session.getOne('tallies', id, { version: true })
  await session.updateOne('tallies', id, changed(fields, entry), { ifVersion: version })
}

async function blindly(id: string, entry: string, random: SeededRandom): Promise<void> {
  const session = vault.as(OWNER)
  await session.updateOne('tallies', id, changed(await read(session, id, random), entry))
}

await Promise.all(
  Array.from({ length: options.writers }, async (_, writer) => {
    const random = randomFor(`${options.seed} ${options.name} ${writer}`)
    for (let number = 0; performance.now() < until; number++) {
      const id = random.pick(options.ids)
      const entry = `${options.name}.${writer}#${number}`
      const change = options.isBlind ? blindly : random.pick([inTransaction, withVersion])
      try {
        await change(id, entry, random)
        result.stored[id] = [...(result.stored[id] ?? []), entry]
      } catch (error) {
        if (isVaultError(error, 'aborted')) result.aborted++
        else result.unexpected.push(`${entry} (${change.name}): ${String(error)}`)
      }
    }
  }),
)
await vault.close()
process.stdout.write(JSON.stringify(result))
