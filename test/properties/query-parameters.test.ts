/** A query with parameters means what it means with literals in their places, and no value changes what it parses to. */
import { isDeepStrictEqual } from 'node:util'
import { describe, expect, it } from 'vitest'
import type { Literal } from '../../src/core/expressions/ast.ts'
import { type QueryValue, toLiterals } from '../../src/core/expressions/parameter-values.ts'
import { QUERY_LIMITS } from '../../src/core/limits.ts'
import { type Planning, planText, readQuery } from '../../src/core/queries/query-text.ts'
import { RECORD_ID_NAME } from '../../src/core/schema/names.ts'
import { bindParameters } from '../../src/core/sql/bind-parameters.ts'
import { parseSelect } from '../../src/core/sql/parse-select.ts'
import { replaceInSelect } from '../../src/core/sql/select.ts'
import { sql } from '../../src/index.ts'
import { openQueries } from '../support/queries/open-queries.ts'
import { type SeededRandom, seededRandom } from '../support/random/seeded-random.ts'
import { comparablePlan } from '../support/sql/comparable-plan.ts'
import { drawFixture, schemaOf } from '../support/sql/fixture.ts'
import { withOtherLiterals } from '../support/sql/other-literals.ts'
import { printQuery } from '../support/sql/print-query.ts'
import { printSelect } from '../support/sql/print-select.ts'
import { drawQuery } from '../support/sql/random-query.ts'
import { randomSelect, withoutPlaces } from '../support/sql/random-selects.ts'
import { vaultDialect } from '../support/sql/vault-dialect.ts'
import { withoutPlace, withParameters } from '../support/sql/with-parameters.ts'

const SEED = 'query parameters 1'
const FIXTURES = 25
const QUERIES = 20

/** The plan and the names of a query, or its error without its position. Forms are kept by layout, and a new one has none. */
function meaning(context: Planning, text: string, values: readonly QueryValue[]): unknown {
  const layout = { ...context.layout }
  const query = readQuery(text, { layout, idName: RECORD_ID_NAME }, values)
  try {
    return { names: query.names, plan: withoutPlaces(comparablePlan(planText({ ...context, layout }, query))) }
  } catch (error) {
    return withoutPlace(error)
  }
}

describe('a query with parameters', () => {
  it('has the plan, the names and the error that it has with literals in their places', async () => {
    const random = seededRandom(SEED)
    let replaced = 0
    let refused = 0
    for (let fixtures = 0; fixtures < FIXTURES; fixtures++) {
      const fixture = drawFixture(random)
      const { context } = await openQueries(schemaOf(fixture))
      for (let asked = 0; asked < QUERIES; asked++) {
        const query = drawQuery(random, fixture)
        const printed = printQuery(vaultDialect(random, query), query)
        const text = random.chance(0.5) ? printed : withOtherLiterals(random, printed)
        const { text: parameterized, values } = withParameters(random, text)
        replaced += values.length
        const literal = meaning(context, text, [])
        if (typeof literal === 'string') refused++
        expect(meaning(context, parameterized, values), `${text}\n${parameterized}`).toEqual(literal)
      }
    }
    expect(replaced).toBeGreaterThan(FIXTURES * QUERIES)
    expect(refused).toBeGreaterThan(FIXTURES)
  })

  it('has the tree of its text alone, with literals in the places of parameters', () => {
    const random = seededRandom(SEED)
    for (let run = 0; run < 2000; run++) {
      const { tree, values } = drawParameterized(random)
      const bound = bindParameters(tree, toLiterals(values, QUERY_LIMITS), QUERY_LIMITS)
      const unbound = replaceInSelect(bound, (constant) =>
        constant.kind !== 'parameter' && constant.parameter !== undefined
          ? { kind: 'parameter', number: constant.parameter, at: constant.at }
          : constant,
      )
      expect(withoutPlaces(unbound)).toEqual(withoutPlaces({ ...tree, limit: bound.limit, offset: bound.offset }))
    }
  })

  it('prints to a query that parses to the same tree, whatever its values are', () => {
    const random = seededRandom(SEED)
    for (let run = 0; run < 2000; run++) {
      const { tree, values } = drawParameterized(random)
      const bound = bindParameters(tree, toLiterals(values, QUERY_LIMITS), QUERY_LIMITS)
      const parsed = parseSelect(printSelect(bound))
      if (!isDeepStrictEqual(withoutPlaces(parsed), withoutPlaces(asWritten(bound)))) throw new Error(printSelect(bound))
    }
  })
})

/** The bound tree as it would be without parameters. */
function asWritten(bound: ReturnType<typeof bindParameters>): unknown {
  return replaceInSelect(bound, (constant) => {
    const { parameter: _, ...written }: Partial<Literal> = constant.kind === 'parameter' ? {} : constant
    return written as Literal // A literal without an optional member is a literal.
  })
}

/** A random tree whose parameters are those of a list of hostile values. */
function drawParameterized(random: SeededRandom) {
  const values: QueryValue[] = []
  const numbered = replaceInSelect(randomSelect(random), (constant) => {
    if (constant.kind !== 'parameter') return constant
    return { ...constant, number: values.push(random.pick(HOSTILE)) }
  })
  const tree = { ...numbered, limit: undefined, offset: undefined }
  return { tree, values }
}

const HOSTILE: readonly QueryValue[] = [
  ...["'", "''", "' OR 'a' = 'a", '"', '\\', "\\'", '--', '/*', '*/', '$1', '$2', '$$', ';', '\u0000', '\u0001', '\u0003'],
  ...['NULL', 'TRUE', 'MASKED', ') OR (TRUE', '\n\r\t', '\ud800', '\udc00\ud800', '🦆', 'x'.repeat(400), '', '%_'],
  ...[0, -0, -1, 1.5, 1e21, 1e-7, -1e300, 5e-324, Number.MAX_SAFE_INTEGER, 2n ** 63n, -(2n ** 70n), 10n ** 400n],
  ...[true, false, null, new Date(0)],
]

describe('a template of sql', () => {
  it('has the text of a query with parameters, and its values, whatever they are', () => {
    for (const value of HOSTILE) {
      const query = sql`SELECT a FROM t WHERE a = ${value} AND ${value} < b`
      expect(query.text).toBe('SELECT a FROM t WHERE a = $1 AND $2 < b')
      const [first] = toLiterals([value], QUERY_LIMITS)
      expect(toLiterals(query.values, QUERY_LIMITS).map(({ at: _, parameter: __, ...literal }) => literal)).toEqual(
        [first, first].map((literal) => withoutPlaces({ ...literal, parameter: undefined })),
      )
    }
  })
})
