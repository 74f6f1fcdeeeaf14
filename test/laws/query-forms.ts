/** Law of known forms: a query of a form that was planned before has the plan, the names and the error that it has alone. */
import { isDeepStrictEqual } from 'node:util'
import type { QueryValue } from '../../src/core/expressions/parameter-values.ts'
import { type Planning, planText, type QuerySchema, readQuery } from '../../src/core/queries/query-text.ts'
import { RECORD_ID_NAME } from '../../src/core/schema/names.ts'
import { VaultError } from '../../src/index.ts'
import { openQueries } from '../support/queries/open-queries.ts'
import type { SeededRandom } from '../support/random/seeded-random.ts'
import { comparablePlan } from '../support/sql/comparable-plan.ts'
import { drawFixture, schemaOf } from '../support/sql/fixture.ts'
import { withOtherLiterals } from '../support/sql/other-literals.ts'
import { printQuery } from '../support/sql/print-query.ts'
import { drawQuery } from '../support/sql/random-query.ts'
import { damage } from '../support/sql/random-selects.ts'
import { vaultDialect } from '../support/sql/vault-dialect.ts'
import { withParameters } from '../support/sql/with-parameters.ts'
import type { Law } from './law.ts'

/** Queries for each schema. */
const QUERIES = 25
/** Texts of each query that differ in literals. */
const TEXTS = 8
/** Share of the texts that must be of a known form, if the caller sees everything. Comments and double quotes prevent it, and so do errors. */
const MIN_KNOWN = 0.01

export const queryForms: Law = {
  name: 'query-forms',
  statement:
    'A query of a form that was planned before has the plan, the names and the error that it has when it is planned alone',
  unit: 'texts',
  figures: { test: 5000, soak: 5_000_000 },
  weight: 1,
  open: () => ({
    async check({ random }) {
      const fixture = drawFixture(random)
      const role = random.pick(['VAULT_OWNER', 'VAULT_OWNER', 'partial', 'someRows'])
      const { context } = await openQueries(schemaOf(fixture), { roles: [role], policy: policyOf(fixture) })
      let known = 0
      for (let asked = 0; asked < QUERIES; asked++) {
        const query = drawQuery(random, fixture)
        const printed = printQuery(vaultDialect(random, query), query)
        const text = random.chance(0.7) ? withoutNotes(printed) : printed
        for (const variant of variantsOf(random, text)) {
          if (assertPlannedAlike(context, variant)) known++
          const { text: parameterized, values } = withParameters(random, variant)
          assertPlannedAlike(context, parameterized, values)
        }
      }
      if (role === 'VAULT_OWNER' && known < QUERIES * TEXTS * MIN_KNOWN) throw new Error(`only ${known} texts had a known form`)
      return QUERIES * TEXTS * 2
    },
  }),
}

/** The query without comments, and with names in double quotes as bare names. */
function withoutNotes(text: string): string {
  return text.replace(/\/\* a note; \*\/|-- a note\n/g, ' ').replace(/"([a-z]\w*)"/gi, '$1')
}

function variantsOf(random: SeededRandom, text: string): string[] {
  return Array.from({ length: TEXTS }, (_, index) => {
    const variant = index === 0 ? text : withOtherLiterals(random, text)
    return random.chance(0.05) ? damage(random, variant) : variant
  })
}

/** Three callers: one sees everything, one some columns, and one some rows. */
function policyOf({ tables }: ReturnType<typeof drawFixture>) {
  const first = tables.map(({ name, columns: [column] }) => `ALLOW READ ON ${name}.${column?.name} WITH REDACTION = PLAIN_TEXT`)
  const rows = tables.map(
    ({ name, columns: [column] }) => `ALLOW READ ON ${name}.* WITH REDACTION = PLAIN_TEXT WHERE ${column?.name} IS NOT NULL`,
  )
  return { partial: first, someRows: rows }
}

/** Throws unless a query is planned as if there were no forms. Returns whether it was of a known form. */
export function assertPlannedAlike(context: Planning, text: string, values: readonly QueryValue[] = []): boolean {
  const { result, isKnown } = planned(context, text, values)
  // Forms are kept by layout, and this one has none.
  const alone = planned({ ...context, layout: { ...context.layout } }, text, values)
  if (alone.isKnown || !isDeepStrictEqual(result, alone.result)) throw new Error(`planned otherwise: ${JSON.stringify(text)}`)
  return isKnown
}

export function planned(context: Planning, text: string, given: readonly QueryValue[]) {
  const schema: QuerySchema = { layout: context.layout, idName: RECORD_ID_NAME }
  const { names, parsed, ...rest } = readQuery(text, schema, given)
  const isKnown = parsed.kind === 'known'
  try {
    return { isKnown, result: { names, plan: comparablePlan(planText(context, { names, parsed, ...rest })) } }
  } catch (error) {
    if (!VaultError.isGenuine(error)) throw error
    return { isKnown, result: { names, code: error.code, message: error.message, details: error.details } }
  }
}
