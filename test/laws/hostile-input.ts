/** Law: text that a caller puts anywhere, or that a port of the application throws, gets into no event, log or span, and values into no error. */
import { inspect } from 'node:util'
import { memoryStorage } from '../../src/adapters/memory/memory-storage.ts'
import { column, type Log, type Tracing, type Vault, VaultError } from '../../src/index.ts'
import type { SeededRandom } from '../support/random/seeded-random.ts'
import { faultyStorage } from '../support/storages/faulty-storage.ts'
import { openLoose } from '../support/vaults/open-untyped.ts'
import { OWNER, people } from '../support/vaults/test-vault.ts'
import type { Law } from './law.ts'

/** Requests of a case. */
const REQUESTS_OF_CASE = 500

/** Text in the place of a name. It is shaped like one, so an error may repeat it to its caller. */
const NAME = 'JaneDoe'
/** Text in any other place. One is shaped like a name and one is not. */
const VALUES = ['QuetzalCoatl', 'quetzal coatl!']
const IN_ANY_CASE = new RegExp(`${NAME}|quetzal ?coatl`, 'i')
const VALUE_IN_ANY_CASE = /quetzal ?coatl/i

type Method =
  | 'insert'
  | 'insertOne'
  | 'get'
  | 'getOne'
  | 'updateOne'
  | 'delete'
  | 'deleteOne'
  | 'detokenize'
  | 'tokenize'
  | 'getByTokens'
type FileMethod = 'uploadFile' | 'openFile' | 'deleteFile' | 'fileStatus' | 'fileStatuses' | 'uploadTicket' | 'downloadTicket'
/** A call without types, as a JavaScript caller makes it. */
type Untyped = Record<
  Method | FileMethod | 'query' | 'listEvents' | 'perform',
  (...given: readonly unknown[]) => Promise<unknown>
>

/** Draws the parts of a request: mostly canaries, sometimes what is valid, sometimes an object that throws. */
function partsOf(random: SeededRandom) {
  const text = (): string => random.pick(VALUES)
  const name = (...valid: readonly string[]): unknown => (random.chance(0.5) ? random.pick(valid) : hostile(NAME))
  const value = (...valid: readonly unknown[]): unknown =>
    valid.length > 0 && random.chance(0.4) ? random.pick(valid) : hostile(text())

  /** Throws a canary in one form or another. */
  const raise = (): never => {
    throw random.pick<() => unknown>([
      () => new Error(text()),
      () => text(),
      () => new VaultError(random.pick(['internal', 'cancelled']), text()),
      () => Object.assign(new Error(text()), { name: 'VaultError', code: random.pick(['conflict', text()]), httpStatus: 500 }),
      () => new Proxy(new Error(text()), { get: raise, getPrototypeOf: raise }),
    ])()
  }

  /** A canary as it is, or inside an object that is hard to handle. */
  function hostile(canary: string): unknown {
    if (random.chance(0.7)) return canary
    const trap: ProxyHandler<object> = { get: raise, has: raise, ownKeys: raise, getPrototypeOf: raise }
    const { proxy, revoke } = Proxy.revocable({}, {})
    revoke()
    return random.pick<unknown>([
      [canary],
      { [NAME]: canary },
      { toString: () => canary, valueOf: raise, toJSON: raise },
      new Proxy({}, trap),
      new Proxy([], { ...trap, getPrototypeOf: () => Array.prototype }),
      new Proxy([1], {
        get: (_list, key) => (key === 'length' ? { valueOf: () => 5000, texts: [canary], pieces: [] } : undefined),
      }),
      proxy,
      Object.defineProperty({}, 'name', { enumerable: true, get: raise }),
      // biome-ignore lint/suspicious/noThenProperty: A caller can pass a thenable.
      { then: raise },
      new Map([[canary, canary]]),
      Symbol(canary),
    ])
  }

  /** An object of options: some of these members, and sometimes an unknown one. */
  const options = (members: Readonly<Record<string, () => unknown>>): unknown => {
    if (random.chance(0.05)) return hostile(text())
    const chosen = random.sample(Object.entries(members), 3).map(([member, draw]): [string, unknown] => [member, draw()])
    return Object.fromEntries(random.chance(0.1) ? [...chosen, [NAME, value()]] : chosen)
  }
  return { random, text, raise, name, value, options, flag: () => value(true, false), number: () => value(1, 5, -1) }
}

type Parts = ReturnType<typeof partsOf>

function fieldsOf({ random, name, value }: Parts): unknown {
  if (random.chance(0.1)) return value()
  const columns = ['name', 'email', 'ssn', 'country', 'born', 'salary', 'score', 'seen', 'notes', 'tags']
  return Object.fromEntries(
    Array.from({ length: 1 + random.below(3) }, () => {
      const key = name(...columns)
      return [typeof key === 'string' ? key : NAME, value('Ann', 5, '2020-02-02')]
    }),
  )
}

const KINDS: Readonly<Record<string, (session: Untyped, parts: Parts) => Promise<unknown>>> = {
  insert(session, parts) {
    const { name, value, options, flag } = parts
    const record = () => ({ fields: fieldsOf(parts), tokens: parts.random.chance(0.3) ? fieldsOf(parts) : undefined })
    const members = { tokenization: flag, upsert: () => name('email'), homogeneous: flag, byot: () => value('ENABLE') }
    return session.insert(name('people'), parts.random.chance(0.9) ? [record(), record()] : value(), options(members))
  },
  get(session, { name, value, options, flag, number, random }) {
    const members = {
      ids: () => (random.chance(0.7) ? [value(), value()] : value()),
      where() {
        const column = name('email', 'country')
        const values = random.chance(0.7) ? [value()] : value()
        return random.chance(0.9) ? { [typeof column === 'string' ? column : NAME]: values } : value()
      },
      fields: () => [name('name')],
      redaction: () => value('MASKED'),
      tokenization: flag,
      orderBy: () => value('DESCENDING'),
      limit: number,
      offset: number,
    }
    return session.get(name('people'), options(members))
  },
  getOne: (session, { name, value, options, flag }) =>
    session.getOne(name('people'), value(), options({ redaction: () => value('MASKED'), tokenization: flag })),
  insertOne(session, parts) {
    const { name, value, options, flag, random } = parts
    const members = {
      tokenization: flag,
      upsert: () => name('email'),
      tokens: () => fieldsOf(parts),
      byot: () => value('ENABLE'),
    }
    return session.insertOne(name('people'), random.chance(0.9) ? fieldsOf(parts) : value(), options(members))
  },
  updateOne(session, parts) {
    const { name, value, options, flag, random } = parts
    const change = random.chance(0.9) ? fieldsOf(parts) : value()
    return session.updateOne(name('people'), value(), change, options({ tokenization: flag, byot: () => value('ENABLE') }))
  },
  delete: (session, { name, value, random }) => session.delete(name('people'), random.chance(0.7) ? [value()] : value()),
  detokenize: (session, { value, options, flag, random }) =>
    session.detokenize(
      random.chance(0.9) ? [{ token: value(), redaction: value('MASKED') }] : value(),
      options({ continueOnError: flag }),
    ),
  tokenize: (session, { name, value, random }) =>
    session.tokenize([
      random.chance(0.5)
        ? { value: value(), table: name('people'), column: name('email') }
        : { value: value(), columnGroup: name('g') },
    ]),
  getByTokens: (session, { value, options }) => session.getByTokens([value()], options({ redaction: () => value('MASKED') })),
  query(session, parts) {
    const { random, text, options, value, number } = parts
    const column = () => random.pick(['name', 'email', 'people.born', NAME, `people.${NAME}`, `${NAME}.name`, '*'])
    const literal = () => `'${text()}'`
    const sql = random.pick([
      `SELECT ${column()} FROM people WHERE ${column()} = ${literal()}`,
      `SELECT name AS ${NAME}, email ${NAME} FROM ${random.pick(['people', NAME])} ${NAME}`,
      `SELECT name FROM people JOIN orders ON memo = ${column()} WHERE born > ${literal()} ORDER BY ${NAME}`,
      `SELECT REDACTION(name, ${literal()}) FROM people`,
      `SELECT name FROM people WHERE name LIKE ${literal()} LIMIT ${NAME}`,
      `SELECT ${NAME}(name) FROM people; ${text()}`,
      text(),
    ])
    const members = {
      idName: () => value('row_id', 'email'),
      signal: () => value(),
      budget: () => ({ maxRows: number(), [NAME]: value() }),
    }
    return session.query(random.chance(0.9) ? sql : value(), options(members))
  },
  listEvents(session, { value, options, random }) {
    const context = options({ actor: () => value(), changeID: () => value(), actorType: () => value('USER') })
    const members = {
      context: () => context,
      resourceIDs: () => value('TABLE/people', `TABLE/${NAME}`, `RECORD/${NAME}`, [NAME]),
      actionType: () => value('GET'),
      startTime: () => value(),
      vaultID: () => value(),
    }
    const filterOps = random.chance(0.5)
      ? { accountID: 'v1', resourceIDs: members.resourceIDs() }
      : options({ ...members, accountID: () => value('v1') })
    const sortOps = options({ sortBy: () => value('actor'), orderBy: () => value('ASCENDING') })
    return session.listEvents(options({ filterOps: () => filterOps, sortOps: () => sortOps, limit: () => value(5) }))
  },
  uploadFile(session, parts) {
    const { name, value, flag, random } = parts
    const target = random.chance(0.6) ? {} : { id: value() }
    const named = random.chance(0.5) ? { fileName: value('a.txt') } : {}
    const given = { table: name('papers'), column: name('scan', 'title'), file: sourceOf(parts), ...target, ...named }
    return session.uploadFile(random.chance(0.9) ? { ...given, returnFileMetadata: flag() } : value())
  },
  openFile: (session, { name, value, options }) =>
    session.openFile(
      name('papers'),
      value(),
      name('scan'),
      options({ range: () => options({ start: () => value(0), end: () => value(9) }) }),
    ),
  deleteFile: (session, { name, value }) => session.deleteFile(name('papers'), value(), name('scan')),
  fileStatus: (session, { name, value }) => session.fileStatus(name('papers'), value(), name('scan')),
  fileStatuses: (session, { name, value, random }) => {
    const record = () => ({ table: name('papers'), id: value(), fileColumns: random.chance(0.8) ? [name('scan')] : name('scan') })
    return session.fileStatuses(random.chance(0.8) ? [record(), record()] : value())
  },
  uploadTicket: (session, { name, value, random }) => {
    const target = random.chance(0.6) ? {} : { id: value() }
    return session.uploadTicket({ table: name('papers'), columns: random.chance(0.8) ? [name('scan')] : name('scan'), ...target })
  },
  downloadTicket: (session, { name, value }) => session.downloadTicket(name('papers'), value(), name('scan')),
  perform: (session, { name, value, options }) =>
    session.perform(
      name('get', 'query', 'listEvents'),
      options({ table: () => name('people'), query: () => value(), ids: () => value() }),
    ),
}

/** A content: bytes of a canary, chunks of other types, or a stream that throws. */
function sourceOf({ random, text, value, raise }: Parts): unknown {
  return random.pick<() => unknown>([
    () => Buffer.from(text()),
    () => new File([text()], text()),
    () => value(),
    async function* () {
      yield Buffer.from(text())
      raise()
    },
    async function* () {
      yield random.pick([value(), text(), null, 5])
    },
    () => ({ stream: raise }),
    () => ({ [Symbol.asyncIterator]: raise }),
    () => ({ [Symbol.asyncIterator]: () => ({ next: () => value(), return: raise }) }),
  ])()
}

/** Everything that an error shows: what is printed of it, and what a logger would serialize. */
function textOf(error: unknown): string {
  if (!(error instanceof VaultError)) return `not a VaultError: ${inspect(error)}`
  return [inspect(error, { depth: 8, showHidden: true }), error.stack, JSON.stringify(error), inspect(error.cause)].join('\n')
}

async function trailOf(vault: Vault): Promise<string> {
  const lines: string[] = []
  for await (const line of vault.exportAudit()) lines.push(line)
  return lines.join('\n')
}

/** A table with a FILE column. */
const PAPERS = { title: column.string(), scan: column.file() }

/** A vault whose log, spans and storage the test sees; a tenth of the calls of its storage fail with a canary. */
async function openWatched(random: SeededRandom) {
  const seen: string[] = []
  const line = (fields: object, message: string): void => void seen.push(inspect([fields, message]))
  const log: Log = { info: line, warn: line, error: line }
  const tracing: Tracing = {
    startActiveSpan: (name, attributes, work) =>
      work({
        traceId: random.pick([undefined, NAME]),
        end: (more, failure) => void seen.push(inspect([name, attributes, more, failure])),
      }),
  }
  const faulty = faultyStorage(memoryStorage())
  const { vault } = await openLoose(faulty.storage, { ...people.tables, papers: PAPERS }, { log, tracing })
  const engineError = () => {
    const text = random.pick(VALUES)
    return random.pick([
      new Error(text),
      new SyntaxError(text),
      Object.assign(new Error(text), { name: 'VaultError', code: 'unavailable', httpStatus: 500, details: [{ table: text }] }),
      Object.assign(new VaultError('unavailable', 'The engine is down.', {}, { cause: new Error(text) }), { row: text }),
    ])
  }
  return { vault, faulty, seen, engineError }
}

/** What a negative control adds to an error before it is checked. */
export type Betrayal = (error: unknown) => unknown

/** Sends random requests to a vault of its own. Returns every leak, one sentence each. */
export async function sendHostile(
  random: SeededRandom,
  requests: number,
  betray: Betrayal = (error) => error,
): Promise<string[]> {
  const { vault, faulty, seen, engineError } = await openWatched(random)
  const session = vault.as(OWNER) as unknown as Untyped // Invalid calls are made on purpose.
  const leaks: string[] = []
  const names = Object.keys(KINDS)
  let performed = 0
  for (let step = 0; step < requests && leaks.length === 0; step++) {
    const parts = partsOf(random.fork(`step ${step}`))
    const name = parts.random.pick(names)
    if (name === 'perform') performed++ // A name that is no operation, or an input that is no object, leaves no event.
    if (parts.random.chance(0.1))
      faulty.fail(({ table }) => (/^(records|files|blobs)/.test(table ?? '') ? engineError() : undefined))
    const error: unknown = await KINDS[name]?.(session, parts).then(
      () => undefined,
      (thrown: unknown) => betray(thrown ?? 'undefined was thrown'),
    )
    faulty.mend()
    const text = error === undefined ? '' : textOf(error)
    if (text.startsWith('not a') || VALUE_IN_ANY_CASE.test(text)) leaks.push(`step ${step}, ${name}: ${text}`)
  }
  leaks.push(...seen.filter((line) => IN_ANY_CASE.test(line)).map((line) => `a log line or a span: ${line}`))
  const trail = (await trailOf(vault)).split('\n')
  leaks.push(...trail.filter((line) => IN_ANY_CASE.test(line)).map((line) => `an event: ${line}`))
  await vault.close()
  if (leaks.length === 0 && trail.length <= requests - performed)
    throw new Error(`${requests} requests left ${trail.length} events`)
  return leaks
}

export const hostileInput: Law = {
  name: 'hostile-input',
  statement:
    'Text that a caller puts anywhere, or that an engine throws, gets into no event, log or span, and values into no error',
  unit: 'requests',
  figures: { test: 1500, soak: 150_000 },
  weight: 1,
  open: () => ({
    async check({ random }) {
      const leaks = await sendHostile(random, REQUESTS_OF_CASE)
      if (leaks.length > 0) throw new Error(leaks.join('\n'))
      return REQUESTS_OF_CASE
    },
  }),
}
