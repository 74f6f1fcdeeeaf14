/** People and pets for queries to find. */
import type { QueryOptions } from '../../../src/core/operations/query-records.ts'
import type { Queries } from './open-queries.ts'

/** Columns of people: sealed, sealed with a digest, plain, and a number. */
export const PEOPLE = {
  name: { type: 'STRING', redaction: 'PLAIN_TEXT' },
  ssn: { type: 'STRING', unique: true, redaction: 'PLAIN_TEXT', mask: { preset: 'ssn' } },
  city: { type: 'STRING', encrypted: false, redaction: 'PLAIN_TEXT' },
  age: { type: 'INTEGER', redaction: 'PLAIN_TEXT' },
} as const

/** Columns of pets. */
export const PETS = {
  owner: { type: 'STRING', searchable: true, redaction: 'PLAIN_TEXT' },
  kind: { type: 'STRING', encrypted: false, redaction: 'PLAIN_TEXT' },
  weight: { type: 'FLOAT', encrypted: false, redaction: 'PLAIN_TEXT' },
} as const

/** People 0 to `count` - 1, every tenth without an age, in three cities. */
export function samplePeople(count: number) {
  return Array.from({ length: count }, (_, at) => ({
    name: `name ${at}`,
    ssn: `000-00-${String(at).padStart(4, '0')}`,
    city: ['Oslo', 'Rome', 'Ulm'][at % 3],
    age: at % 10 === 0 ? null : at,
  }))
}

/** Names of people. */
export const numbers = (from: number, to: number) => Array.from({ length: to - from }, (_, at) => `name ${from + at}`)

/** The names that a query returns. */
export const namesIn = async (queries: Queries, sql: string, options?: QueryOptions) =>
  (await queries.query(sql, options)).map(({ name }) => name)
