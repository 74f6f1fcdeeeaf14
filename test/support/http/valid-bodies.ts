/** Bodies that the routes of a test vault accept, by the operation of the route. */
import type { Route } from '../../../src/http/router/route.ts'
import type { OperationName } from '../../../src/index.ts'
import type { SeededRandom } from '../random/seeded-random.ts'
import type { HttpVocabulary } from './http-vocabulary.ts'

type Maker = (random: SeededRandom, vocabulary: HttpVocabulary) => unknown

/** Returns a body for the route; undefined for one without. */
export function validBody(random: SeededRandom, { operation, method }: Route, vocabulary: HttpVocabulary): unknown {
  if (method === 'GET') return undefined
  return operation === undefined ? undefined : MAKERS[operation]?.(random, vocabulary)
}

const LEVELS = ['DEFAULT', 'PLAIN_TEXT', 'MASKED', 'REDACTED'] as const

const MAKERS: Readonly<Partial<Record<OperationName, Maker>>> = {
  insert: (random) => ({
    records: Array.from({ length: 1 + random.below(2) }, () => ({ fields: fieldsFor(random) })),
    ...flags(random, ['tokenization', 'homogeneous']),
    ...some(random, { upsert: random.pick(['email', '', 'name']), byot: random.pick(['DISABLE', 'ENABLE', 'ENABLE_STRICT']) }),
  }),
  updateOne: (random) => ({ record: { fields: fieldsFor(random) }, ...flags(random, ['tokenization']) }),
  delete: (random, { ids }) => ({ svc_ids: random.chance(0.01) ? ['*'] : random.sample(ids, 1 + random.below(2)), vaultID: '' }),
  detokenize: (random, { tokens }) => ({
    detokenizationParameters: random.sample([...tokens, 'no such token'], 2).map((token) => ({
      token,
      redaction: random.pick(LEVELS),
    })),
    ...flags(random, ['continueOnError', 'downloadURL']),
  }),
  tokenize: (random) => ({
    tokenizationParameters: [
      random.pick<object>([
        { value: 'Kin', table: 'people', column: 'code' },
        { value: 'Kin', columnGroup: 'kin' },
        { value: 'Ann', table: 'people', column: 'name', columnGroup: '' },
      ]),
    ],
  }),
  getByTokens: (random, { tokens }) => ({
    tokens: random.sample([...tokens, 'no such token'], 2),
    ...some(random, { redaction: random.pick(['redacted', 'masked', 'plain_text']) }),
  }),
  query: (random) => ({
    query: random.pick([
      'SELECT * FROM people',
      "SELECT svc_id, name FROM people WHERE email = 'ann@acme.example' LIMIT 3",
      'SELECT count(*), max(salary) FROM people',
      'SELECT people.name, orders.memo FROM people LEFT JOIN orders ON people.name = orders.memo',
      "SELECT name FROM people WHERE notes ? 'a'",
      'SELECT name FROM people ORDER BY name',
      'DELETE FROM people',
      'SELECT name FROM people LIMIT -1',
    ]),
  }),
  fileStatuses: (random, { ids }) => ({
    records: [{ tableName: 'papers', svcID: random.pick(ids), fileColumns: ['scan'] }],
  }),
  uploadTicket: (random, { ids }) => ({
    tableName: 'papers',
    fileColumns: ['scan'],
    ...some(random, { svcID: random.pick(ids) }),
  }),
  batch: (random, vocabulary) => ({
    records: Array.from({ length: 1 + random.below(3) }, () => itemFor(random, vocabulary)),
    ...flags(random, ['continueOnError']),
  }),
}

function itemFor(random: SeededRandom, { ids }: HttpVocabulary): object {
  const ID = ids.length > 0 && random.chance(0.8) ? random.pick(ids) : '$responses.0.records.0.svc_id'
  return random.pick<object>([
    { method: 'POST', tableName: 'people', fields: fieldsFor(random), tokenization: true },
    { method: 'PUT', tableName: 'people', ID, fields: fieldsFor(random) },
    { method: 'GET', tableName: 'people', ID, redaction: random.pick(LEVELS) },
    { method: 'DELETE', tableName: 'people', ID, batchID: 'b1' },
  ])
}

function fieldsFor(random: SeededRandom): object {
  const number = random.below(1_000_000)
  const fields: Readonly<Record<string, unknown>> = {
    email: `ann${number}@acme.example`,
    ssn: '123-45-6789',
    country: random.pick(['SE', 'DE', 'XX']),
    born: random.pick(['2001-02-03', '2026-02-30']),
    salary: random.pick([number, 1.5, '9223372036854775808']),
    notes: { a: [number] },
    tags: ['a', number],
    active: true,
    code: 'Kin',
  }
  return { name: 'Ann', ...Object.fromEntries(random.sample(Object.entries(fields), random.below(4))) }
}

function flags(random: SeededRandom, names: readonly string[]): object {
  return some(random, Object.fromEntries(names.map((name) => [name, random.chance(0.5)])))
}

/** Some of the members. */
function some(random: SeededRandom, members: Readonly<Record<string, unknown>>): object {
  return Object.fromEntries(Object.entries(members).filter(() => random.chance(0.4)))
}
