/** Runs the queries of a file on a vault and lists every wrong outcome. */
import { isVaultError } from '../../../src/core/errors.ts'
import { faultOf } from './compare.ts'
import type { KnownPlaces, Queryable } from './known-vault.ts'
import { rewriteQuery } from './rewrite.ts'
import type { KnownQuery, WrongQuery } from './vectors.ts'

/** Queries with the same column or function twice: their keys would be equal, so the vault rejects them. Source: docs/sql.md. */
const SAME_OUTPUTS: ReadonlySet<string> = new Set(['s1378', 's1393'])

/** Quoted names in another case than the column: PostgreSQL rejects them, the vault accepts names in any case. Source: docs/sql.md. */
const OTHER_CASES: ReadonlySet<string> = new Set(['e0007', 'e0054', 'e0072', 'e0249'])

/** The result of a file of queries. */
export interface Checked {
  readonly answered: number
  readonly refused: number
  /** One line for each wrong outcome. */
  readonly faults: readonly string[]
}

/** The expected outcome of each query. A wrong result or another error is always a fault. */
export type Expectation = 'answer' | 'answer or refuse' | 'refuse'

/** A file of queries, the places of their databases, and the expected outcome. */
export interface Inquiry {
  readonly places: KnownPlaces
  readonly queries: readonly (KnownQuery | WrongQuery)[]
  readonly expectation: Expectation
  /** True to end at the first wrong outcome. Default: false. */
  readonly isOneEnough?: boolean
}

/** Runs every query, or those up to the first fault. */
export async function checkQueries(
  vault: Queryable,
  { places, queries, expectation, isOneEnough = false }: Inquiry,
): Promise<Checked> {
  const counts = { answered: 0, refused: 0 }
  const faults: string[] = []
  for (const query of queries) {
    const outcome = await ask(vault, rewriteQuery(query.sql, places.get(query.db) ?? new Map()), query)
    const fault = outcome.fault ?? (isExpected(outcome.kind, query, expectation) ? undefined : `is ${outcome.kind}${outcome.why}`)
    counts[outcome.kind]++
    if (fault === undefined) continue
    faults.push(`${query.id} ${fault}\n    ${query.sql.replaceAll(/\s+/g, ' ')}`)
    if (isOneEnough) break
  }
  return { ...counts, faults }
}

/** The outcome of one query. `fault` is set if it is wrong for every expectation. */
interface Outcome {
  readonly kind: 'answered' | 'refused'
  readonly why: string
  readonly fault?: string | undefined
}

async function ask(vault: Queryable, sql: string, query: KnownQuery | WrongQuery): Promise<Outcome> {
  try {
    const answer = await vault.query(sql)
    return { kind: 'answered', why: '', fault: 'expected' in query ? faultOf(query, answer) : undefined }
  } catch (error) {
    const refusal = isRefusal(error)
    return { kind: 'refused', why: `: ${String(error)}`, fault: refusal ? undefined : `fails: ${String(error)}` }
  }
}

/** Codes of errors that are the fault of the query, with the gRPC code of each. Source: docs/sql.md. */
const REFUSALS: ReadonlyMap<string, number> = new Map([
  ['invalid_request', 3],
  ['not_found', 5],
  ['limit_exceeded', 8],
  ['unprocessable', 9],
  ['out_of_range', 11],
  ['unsupported', 12],
])

/** True for an error that is the fault of the query, and neither of the caller's rights nor of the vault. */
export function isRefusal(error: unknown): boolean {
  return isVaultError(error) && REFUSALS.get(error.code) === error.grpcCode
}

function isExpected(kind: Outcome['kind'], query: KnownQuery | WrongQuery, expectation: Expectation): boolean {
  if (expectation === 'answer or refuse') return true
  if (expectation === 'answer') return kind === (SAME_OUTPUTS.has(query.id) ? 'refused' : 'answered')
  return kind === (OTHER_CASES.has(query.id) ? 'answered' : 'refused')
}

/** The faults as text: their number, and the first ones. */
export function listed(faults: readonly string[], max = 40): string {
  return faults.length === 0 ? 'none' : `${faults.length} faults\n  ${faults.slice(0, max).join('\n  ')}`
}
