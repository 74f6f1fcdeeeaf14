/** Property: what a caller may not see in plain text never leaves the vault: not in results, errors, logs, spans, events or storage. */
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import pg from 'pg'
import { describe, expect, it } from 'vitest'
import { memoryStorage } from '../../src/adapters/memory/memory-storage.ts'
import type { StorageHandle } from '../../src/core/ports/storage.ts'
import { VaultError } from '../../src/index.ts'
import { createCanaries } from '../support/leaks/canaries.ts'
import type { FixtureOptions } from '../support/leaks/fixture.ts'
import { openFixture } from '../support/leaks/fixture.ts'
import { requestText } from '../support/leaks/known-values.ts'
import { cellText } from '../support/leaks/outlets.ts'
import { randomRequest } from '../support/leaks/requests.ts'
import { FIRST_FIXTURE, runSeed } from '../support/random/run-seed.ts'
import { randomFor } from '../support/random/seeded-random.ts'
import { postgresEngine, sqliteEngine } from '../support/storages/engines.ts'
import type { PostgresAddress } from '../support/storages/open-storage.ts'

const isSoak = process.env.SOAK === '1'
const SEED = runSeed('no leak')
const SOAK_HOURS = 4 * 3_600_000
/** Fixtures in memory. Each has its own schema, policy and caller. There are fewer on the engines with files. */
const FIXTURES = isSoak ? 480 : 46
const STEPS = isSoak ? 400 : 40

/** The storage of a fixture, and its bytes that the port does not show. */
interface Place {
  readonly storage: StorageHandle
  others(): Promise<string> | string
}

const onMemory = (): Place => ({ storage: memoryStorage(), others: () => '' })

/** Runs one fixture. Returns a line with seed and request for each leak. */
async function live(seed: string, { storage, others }: Place, options: FixtureOptions = {}): Promise<string[]> {
  const random = randomFor(seed)
  const fixture = await openFixture(random, storage, options)
  const faults: string[] = []
  for (let step = 0; step < STEPS; step++) {
    const request = randomRequest(random, fixture.known)
    for (const fault of await fixture.step(request)) faults.push(`step ${step}, ${requestText(request)}: ${fault}`)
  }
  faults.push(...(await fixture.faultsAtRest(others)))
  await fixture.close()
  return faults.map((fault) => `seed '${seed}', roles ${fixture.caller.roles.join()}: ${fault}`)
}

/** Runs fixtures up to the first that leaks. Returns its leaks. */
async function firstFaults(fixtures: number, name: string, place: () => Place, options: FixtureOptions = {}): Promise<string[]> {
  for (let fixture = FIRST_FIXTURE; fixture < FIRST_FIXTURE + fixtures; fixture++) {
    const faults = await live(`${SEED} ${name} ${fixture}`, place(), options)
    if (faults.length > 0) return faults
  }
  return []
}

describe('a vault shows a caller no value beyond the policy', () => {
  const sqlite = sqliteEngine()
  const postgres = postgresEngine()

  it('on memory', { timeout: isSoak ? SOAK_HOURS : 60_000 }, async () => {
    expect(await firstFaults(FIXTURES, 'memory', onMemory)).toEqual([])
  })

  it('on SQLite, including its file and write-ahead log', { timeout: isSoak ? SOAK_HOURS : 60_000 }, async () => {
    const onSqlite = (): Place => {
      const place = sqlite.fresh()
      const folder = dirname(place.address().filename)
      return {
        storage: place.open(),
        others: () =>
          readdirSync(folder)
            .map((name) => readFileSync(join(folder, name), 'latin1'))
            .join('\n'),
      }
    }
    expect(await firstFaults(isSoak ? 15 : 3, 'sqlite', onSqlite)).toEqual([])
  })

  it('on PostgreSQL, including every cell of every table', { timeout: isSoak ? SOAK_HOURS : 60_000 }, async () => {
    const onPostgres = (): Place => {
      const place = postgres.fresh()
      return { storage: place.open(), others: () => tablesOf(place.address()) }
    }
    expect(await firstFaults(isSoak ? 5 : 1, 'postgres', onPostgres)).toEqual([])
  })
})

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

describe('the leak check detects', () => {
  const BROKEN: readonly (readonly [fault: string, options: FixtureOptions, found: RegExp])[] = [
    [
      'a value that an error repeats',
      {
        layer: (send) => (request) =>
          send(request).catch((error: unknown) => {
            const { message } = error as Error // A session throws errors only; the property checks that.
            throw new VaultError('unprocessable', `${message} It was ${requestText(request)}.`)
          }),
      },
      /the error holds a canary/,
    ],
    [
      'a value in the details of an error, in base64',
      {
        layer: (send) => (request) =>
          send(request).catch(() => {
            throw new VaultError('unprocessable', 'Wrong.', { column: Buffer.from(requestText(request)).toString('base64') })
          }),
      },
      /the error holds a canary/,
    ],
    [
      'a host that puts a value into what events record of the request',
      { host: (caller, secret) => ({ ...caller, request: { clientTraceID: secret } }) },
      /the audit trail holds a canary/,
    ],
    [
      'a host that puts a value into the trace id of log lines',
      { host: (caller, secret) => ({ ...caller, request: { requestID: secret } }) },
      /lines of the log, spans or errors hold a canary/,
    ],
    [
      'returns the requested level instead of the lower of both',
      {
        layer: (send, owner) => (request) =>
          request.method.startsWith('get') ? send(request).then(() => owner(request)) : send(request),
      },
      /fields of .* should be|canaries hidden from the caller|invisible to the caller|hidden column/,
    ],
    [
      'masked fields that are not named as lowered',
      {
        layer: (send) => async (request) =>
          JSON.parse(JSON.stringify(await send(request)), (key, part: unknown) => (key === 'lowered' ? [] : part)),
      },
      /lowered of .* is \[\] and should be/,
    ],
    [
      'tokens resolved at the level asked',
      {
        layer: (send, owner) => (request) =>
          request.method === 'detokenize' ? send(request).then(() => owner(request)) : send(request),
      },
      /is shown as .* and may only be|canaries hidden from the caller/,
    ],
  ]

  for (const [fault, options, found] of BROKEN) {
    it(fault, async () => {
      expect(await firstFaults(20, fault, onMemory, options)).toContainEqual(expect.stringMatching(found))
    })
  }
})

describe('the search for canaries', () => {
  const ENCODINGS: Readonly<Record<string, (text: string) => string>> = {
    'as it is': (text) => text,
    'in upper case': (text) => text.toUpperCase(),
    backwards: (text) => [...text].reverse().join(''),
    'in base64': (text) => Buffer.from(`x${text}`).toString('base64'),
    'in base64url': (text) => Buffer.from(`{"${text}`).toString('base64url'),
    'in hexadecimal': (text) => Buffer.from(text).toString('hex'),
    'in upper hexadecimal': (text) => Buffer.from(text).toString('hex').toUpperCase(),
    'encoded for a URL': (text) => encodeURIComponent(text),
    'escaped in JSON': (text) => JSON.stringify(JSON.stringify(text)),
    truncated: (text) => text.slice(0, 13),
    'in UTF-16': (text) => Buffer.from(text, 'utf16le').toString('latin1'),
    'in UTF-16 of the other order': (text) => Buffer.from(text, 'utf16le').swap16().toString('latin1'),
  }

  for (const [encoding, wear] of Object.entries(ENCODINGS)) {
    it(`finds a canary ${encoding}`, () => {
      const canaries = createCanaries(randomFor(encoding))
      for (const form of ['STRING', 'EMAIL', 'CARD', 'INTEGER', 'FLOAT', 'DATE', 'TIME', 'DATETIME'] as const) {
        const { value, id } = canaries.make(form)
        const text = `${form}: ${wear(String(value))}…`
        if (form === 'DATETIME' && encoding === 'truncated') continue // A day alone is a value of another column.
        expect([...canaries.findIn(text)], text).toEqual([id])
      }
    })
  }

  it('finds nothing in bytes without a canary', () => {
    const canaries = createCanaries(randomFor('nothing'))
    for (let count = 0; count < 100; count++) for (const form of ['STRING', 'INTEGER', 'DATE'] as const) canaries.make(form)
    const random = randomFor('noise')
    const noise = Buffer.from(random.bytes(200_000))
    expect(canaries.findIn(`${noise.toString('hex')} ${noise.toString('base64')} ${noise.toString('latin1')}`).size).toBe(0)
  })
})
