/** Law: a call that shares a commit, a turn or a connection with others ends as it would alone. */
import type { Vault } from '../../src/index.ts'
import type { SeededRandom } from '../support/random/seeded-random.ts'
import { engineInTurn, onFresh, openPlaces, type Place } from '../support/storages/places.ts'
import { EVERY_VERB, VERB_TABLES, type Verb } from '../support/vaults/every-verb.ts'
import { openLoose } from '../support/vaults/open-untyped.ts'
import type { Law } from './law.ts'

/** Mixes of one case, on one vault. */
const MIXES = 4
/** Callers of one verb side by side. */
const CALLERS = [1, 1, 2, 6]
/** Verbs whose rows share commits with those of others. At least two of every other mix are of them. */
const SHARING = [
  'insert',
  'insert of transient values',
  'batch of inserts',
  'insert of 40',
  'transaction',
  'upsert',
  'uploadFile',
  'createApiKey',
  'spendOnce',
]

export const innocentCallers: Law = {
  name: 'innocent-callers',
  statement: 'Three or four verbs side by side, whichever they are, each end as they do alone, on every storage',
  unit: 'mixes',
  figures: { test: 12, soak: 10_000 },
  weight: 2,
  async open({ postgresUrl }) {
    const places = await openPlaces(postgresUrl)
    return {
      async check({ number, random }) {
        await onFresh(engineInTurn(places, number), (place) => checkMixes(place, randomMixes(random), random))
        return MIXES
      },
      close: () => places.close(),
    }
  },
}

function randomMixes(random: SeededRandom): string[][] {
  const all = Object.keys(EVERY_VERB)
  return Array.from({ length: MIXES }, (_, mix) => {
    const names = new Set(mix % 2 === 0 ? random.sample(SHARING, 2) : [])
    for (const size = random.pick([3, 4]); names.size < size; ) names.add(random.pick(all))
    return [...names]
  })
}

/** Runs mixes of verbs one after the other on one vault, and verifies its trail and its records. `turns` are calls of each caller, one after the other. */
export async function checkMixes(
  place: Place,
  mixes: readonly (readonly string[])[],
  random: SeededRandom,
  { verbs = EVERY_VERB, turns = 10 }: { verbs?: Readonly<Record<string, Verb>>; turns?: number } = {},
): Promise<void> {
  const { vault } = await openLoose(place.open(), VERB_TABLES, { audit: random.chance(0.8) ? 'on' : 'off' })
  for (const [number, names] of mixes.entries()) {
    const failures = await runMix({ vault, names, verbs, turns, mark: `m${number}`, random })
    if (failures.length > 0) throw new Error(`${failures.length} calls failed in ${names.join(' + ')}\n${failures[0]}`)
  }
  const { ok } = await vault.verifyAudit()
  if (!ok || !(await vault.verifyRecords()).ok) throw new Error('what the mixes stored cannot be verified')
  await vault.close()
}

/** One mix of verbs. */
interface Mix {
  readonly vault: Vault
  readonly names: readonly string[]
  readonly verbs: Readonly<Record<string, Verb>>
  readonly turns: number
  readonly mark: string
  readonly random: SeededRandom
}

/** Runs a mix, and returns the errors of its calls. */
async function runMix({ vault, names, verbs, turns, mark, random }: Mix): Promise<string[]> {
  const failures: string[] = []
  const tables = Object.keys(VERB_TABLES)
  const ready = names.map(async (name, index) => {
    const call = await verbs[name]?.({ vault, table: random.pick(tables), mark: `${mark}v${index}` })
    if (call === undefined) throw new Error(`no verb is called ${name}`)
    return { name, call, callers: random.pick(CALLERS) }
  })
  const loops = (await Promise.all(ready)).flatMap(({ name, call, callers }) =>
    Array.from({ length: callers }, async (_, caller) => {
      for (let turn = 0; turn < turns; turn++) {
        await call(`c${caller}t${turn}`).catch((error: unknown) => failures.push(`${name}: ${String(error)}`))
      }
    }),
  )
  await Promise.all(loops)
  return failures
}
