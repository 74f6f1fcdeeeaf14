/** Law: what a caller may not see in plain text never leaves the vault: not in results, errors, logs, spans, events or storage, and not over sockets. */
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import pg from 'pg'
import type { StorageHandle } from '../../src/core/ports/storage.ts'
import { overHttp } from '../support/http/leak-transport.ts'
import { type FixtureOptions, openFixture } from '../support/leaks/fixture.ts'
import { requestText } from '../support/leaks/known-values.ts'
import { cellText } from '../support/leaks/outlets.ts'
import { randomRequest } from '../support/leaks/requests.ts'
import type { SeededRandom } from '../support/random/seeded-random.ts'
import type { PostgresAddress } from '../support/storages/open-storage.ts'
import { onFresh, openPlaces, type Place, type Places } from '../support/storages/places.ts'
import type { Law } from './law.ts'

/** Operations of a case. Every 25th case has more, because some states need a long history. */
const STEPS = 40
const LONG_STEPS = 400

export const noLeak: Law = {
  name: 'no-leak',
  statement:
    'A vault shows a caller no value beyond the policy, in no result, error, log line, span, event, stored byte or byte on a socket',
  unit: 'operations',
  figures: { test: 1000, soak: 200_000 },
  weight: 3,
  async open({ postgresUrl }) {
    const places = await openPlaces(postgresUrl)
    return {
      async check({ number, random }) {
        const steps = number % 25 === 24 ? LONG_STEPS : STEPS
        const options = number % 2 === 1 ? { transport: overHttp() } : {}
        const faults = await onFresh(engineOf(places, number), (place) => leaksOf(random, steps, observed(place), options))
        if (faults.length > 0) throw new Error(faults.join('\n'))
        return steps
      },
      close: () => places.close(),
    }
  },
}

/** Most cases are in memory, where opening a vault takes no time. */
function engineOf({ memory, sqlite, postgres }: Places, number: number) {
  return { 5: sqlite, 10: sqlite, 15: postgres }[number % 16] ?? memory
}

/** A storage, and its bytes that the port does not show. */
export interface Observed {
  readonly storage: StorageHandle
  others(): Promise<string> | string
}

function observed(place: Place): Observed {
  const address = place.address()
  const others = () => {
    if (address === undefined) return ''
    return address.engine === 'sqlite' ? filesBeside(address.filename) : tablesOf(address)
  }
  return { storage: place.open(), others }
}

/** Runs one caller on one random vault. Returns a line with the request for each leak. */
export async function leaksOf(
  random: SeededRandom,
  steps: number,
  { storage, others }: Observed,
  options: FixtureOptions = {},
): Promise<string[]> {
  const fixture = await openFixture(random, storage, options)
  const faults: string[] = []
  for (let step = 0; step < steps; step++) {
    const request = randomRequest(random, fixture.known)
    for (const fault of await fixture.step(request)) faults.push(`step ${step}, ${requestText(request)}: ${fault}`)
  }
  faults.push(...(await fixture.faultsAtRest(others)))
  await fixture.close()
  return faults.map((fault) => `roles ${fixture.caller.roles.join()}: ${fault}`)
}

/** The database file, its write-ahead log, and what else is in the folder. */
function filesBeside(filename: string): string {
  const folder = dirname(filename)
  return readdirSync(folder)
    .map((name) => readFileSync(join(folder, name), 'latin1'))
    .join('\n')
}

/** Every column of every table of a schema, as the driver gives it and as text. */
async function tablesOf({ url, schema }: PostgresAddress): Promise<string> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    const { rows: tables } = await client.query<{ name: string }>(
      'select tablename as name from pg_tables where schemaname = $1',
      [schema],
    )
    const texts: string[] = []
    for (const { name } of tables) {
      const { rows } = await client.query<Record<string, unknown>>(
        `select one.*, one::text as spelt from "${schema}"."${name}" as one`,
      )
      for (const row of rows) texts.push(...Object.values(row).map(cellText))
    }
    return texts.join('\n')
  } finally {
    await client.end()
  }
}
