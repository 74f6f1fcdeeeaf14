/** Law: what a caller may not see in plain text never leaves the vault: not in answers, errors, lines, spans, events or storage. */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { memoryStorage } from '../../src/adapters/memory/memory-storage.ts'
import { postgresStorage } from '../../src/adapters/postgres/postgres-storage.ts'
import { sqliteStorage } from '../../src/adapters/sqlite/sqlite-storage.ts'
import type { StorageHandle } from '../../src/core/ports/storage.ts'
import { VaultError } from '../../src/index.ts'
import { createCanaries } from '../support/leaks/canaries.ts'
import type { WorldOptions } from '../support/leaks/fixture.ts'
import { openWorld } from '../support/leaks/fixture.ts'
import type { LeakRequest } from '../support/leaks/known-values.ts'
import { cellText } from '../support/leaks/outlets.ts'
import { randomRequest } from '../support/leaks/requests.ts'
import { freshDatabase } from '../support/postgres/fresh-database.ts'
import { FIRST_FIXTURE, runSeed } from '../support/random/run-seed.ts'
import { randomFor } from '../support/random/seeded-random.ts'

const isSoak = process.env.SOAK === '1'
const SEED = runSeed('no leak')
const SOAK_HOURS = 4 * 3_600_000
/** Worlds on memory; each has its own schema, policy and caller. Some more live on the engines with files. */
const WORLDS = isSoak ? 480 : 46
const STEPS = isSoak ? 400 : 40

/** Where a world lives, and what of it the port does not show. */
interface Place {
  readonly storage: StorageHandle
  others(): Promise<string> | string
}

const onMemory = (): Place => ({ storage: memoryStorage(), others: () => '' })

/** Lives one world to its end; what was wrong in it is told with the seed and the request. */
async function live(seed: string, { storage, others }: Place, options: WorldOptions = {}): Promise<string[]> {
  const random = randomFor(seed)
  const world = await openWorld(random, storage, options)
  const faults: string[] = []
  for (let step = 0; step < STEPS; step++) {
    const request = randomRequest(random, world.known)
    for (const fault of await world.step(request)) faults.push(`step ${step}, ${told(request)}: ${fault}`)
  }
  faults.push(...(await world.faultsAtRest(others)))
  await world.close()
  return faults.map((fault) => `seed '${seed}', roles ${world.caller.roles.join()}: ${fault}`)
}

function told({ method, args }: LeakRequest): string {
  return `${method} ${JSON.stringify(args, (_, value: unknown) => (typeof value === 'bigint' ? String(value) : value))}`
}

/** Worlds in turn, up to the first that leaks. */
async function firstFaults(worlds: number, name: string, place: () => Place, options: WorldOptions = {}): Promise<string[]> {
  for (let world = FIRST_FIXTURE; world < FIRST_FIXTURE + worlds; world++) {
    const faults = await live(`${SEED} ${name} ${world}`, place(), options)
    if (faults.length > 0) return faults
  }
  return []
}

describe('no value leaves the vault beyond what the policy shows', () => {
  const directory = mkdtempSync(join(tmpdir(), 'no-leak-'))
  let url = ''
  let drop = async (): Promise<void> => {}

  beforeAll(async () => {
    const database = await freshDatabase(inject('postgresUrl'))
    url = database.url
    drop = database.drop
  })

  afterAll(async () => {
    rmSync(directory, { recursive: true, force: true })
    await drop()
  })

  it('on memory', { timeout: isSoak ? SOAK_HOURS : 60_000 }, async () => {
    expect(await firstFaults(WORLDS, 'memory', onMemory)).toEqual([])
  })

  it('on SQLite, in its file and its write-ahead log', { timeout: isSoak ? SOAK_HOURS : 60_000 }, async () => {
    let made = 0
    const onSqlite = (): Place => {
      const folder = mkdtempSync(join(directory, `${made++}-`))
      return {
        storage: sqliteStorage({ filename: join(folder, 'vault.db') }),
        others: () =>
          readdirSync(folder)
            .map((name) => readFileSync(join(folder, name), 'latin1'))
            .join('\n'),
      }
    }
    expect(await firstFaults(isSoak ? 15 : 3, 'sqlite', onSqlite)).toEqual([])
  })

  it('on Postgres, in every cell of every table', { timeout: isSoak ? SOAK_HOURS : 60_000 }, async () => {
    let made = 0
    const onPostgres = (): Place => {
      const schema = `leak_${made++}`
      return { storage: postgresStorage({ connectionString: url, schema }), others: () => tablesOf(url, schema) }
    }
    expect(await firstFaults(isSoak ? 5 : 1, 'postgres', onPostgres)).toEqual([])
  })
})

/** Every column of every table of a schema, as the driver gives it and as text. */
async function tablesOf(url: string, schema: string): Promise<string> {
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

describe('the law that nothing leaks is broken by', () => {
  const BROKEN: readonly (readonly [fault: string, options: WorldOptions, found: RegExp])[] = [
    [
      'a value that an error repeats',
      {
        layer: (send) => (request) =>
          send(request).catch((error: unknown) => {
            const { message } = error as Error // What a session throws is always an error: the law itself says so.
            throw new VaultError('unprocessable', `${message} It was ${told(request)}.`)
          }),
      },
      /the error holds a canary/,
    ],
    [
      'a value that hides in the facts of an error, in base64',
      {
        layer: (send) => (request) =>
          send(request).catch(() => {
            throw new VaultError('unprocessable', 'Wrong.', { column: Buffer.from(told(request)).toString('base64') })
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
      'a host that puts a value into the id that lines of the log tell',
      { host: (caller, secret) => ({ ...caller, request: { requestID: secret } }) },
      /lines of the log, spans or errors hold a canary/,
    ],
    [
      'answers at the level asked instead of the lower of both',
      {
        layer: (send, owner) => (request) =>
          request.method.startsWith('get') ? send(request).then(() => owner(request)) : send(request),
      },
      /fields of .* should be|canaries he may not see|not there for him|hidden column/,
    ],
    [
      'tokens resolved at the level asked',
      {
        layer: (send, owner) => (request) =>
          request.method === 'detokenize' ? send(request).then(() => owner(request)) : send(request),
      },
      /is shown as .* and may only be|canaries he may not see/,
    ],
  ]

  for (const [fault, options, found] of BROKEN) {
    it(fault, async () => {
      expect(await firstFaults(20, fault, onMemory, options)).toContainEqual(expect.stringMatching(found))
    })
  }
})

describe('the search for canaries', () => {
  const DISGUISES: Readonly<Record<string, (text: string) => string>> = {
    'as it is': (text) => text,
    'in upper case': (text) => text.toUpperCase(),
    backwards: (text) => [...text].reverse().join(''),
    'in base64': (text) => Buffer.from(`x${text}`).toString('base64'),
    'in base64url': (text) => Buffer.from(`{"${text}`).toString('base64url'),
    'in hexadecimal': (text) => Buffer.from(text).toString('hex'),
    'in upper hexadecimal': (text) => Buffer.from(text).toString('hex').toUpperCase(),
    'encoded for a URL': (text) => encodeURIComponent(text),
    'escaped in JSON': (text) => JSON.stringify(JSON.stringify(text)),
    'cut to its beginning': (text) => text.slice(0, 13),
    'in UTF-16': (text) => Buffer.from(text, 'utf16le').toString('latin1'),
    'in UTF-16 of the other order': (text) => Buffer.from(text, 'utf16le').swap16().toString('latin1'),
  }

  for (const [disguise, wear] of Object.entries(DISGUISES)) {
    it(`finds one ${disguise}`, () => {
      const canaries = createCanaries(randomFor(disguise))
      for (const form of ['STRING', 'EMAIL', 'CARD', 'INTEGER', 'FLOAT', 'DATE', 'TIME', 'DATETIME'] as const) {
        const { value, id } = canaries.make(form)
        const text = `${form}: ${wear(String(value))}…`
        if (form === 'DATETIME' && disguise === 'cut to its beginning') continue // A day alone is a value of another column.
        expect([...canaries.findIn(text)], text).toEqual([id])
      }
    })
  }

  it('finds nothing where there is nothing', () => {
    const canaries = createCanaries(randomFor('nothing'))
    for (let count = 0; count < 100; count++) for (const form of ['STRING', 'INTEGER', 'DATE'] as const) canaries.make(form)
    const random = randomFor('noise')
    const noise = Buffer.from(random.bytes(200_000))
    expect(canaries.findIn(`${noise.toString('hex')} ${noise.toString('base64')} ${noise.toString('latin1')}`).size).toBe(0)
  })
})
