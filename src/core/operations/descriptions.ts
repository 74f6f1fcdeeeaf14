/** What callers can ask about themselves: who they are, what they know of the schema, and how a query of theirs would run. */
import type { Description } from '../execution/describe.ts'
import type { QueryValue } from '../expressions/parameter-values.ts'
import type { Caller, CallerContext, RequestContext } from '../policy/caller.ts'
import { describeKnown, isKnownColumn, type KnownTable } from '../policy/known-schema.ts'
import { readQuery } from '../queries/query-text.ts'
import { explainQuery as explain } from '../queries/run-query.ts'
import { RECORD_ID_NAME } from '../schema/names.ts'
import type { QueryPlan } from '../sql/explain-plan.ts'
import type { SqlQuery } from '../sql/sql.ts'

/** A caller, as the vault knows them. */
export interface DescribedCaller extends Pick<Caller, 'actor' | 'actorType' | 'roles'> {
  readonly vaultID: string
  /** What the creator of the stored credential called it. Only of a caller with one. */
  readonly name?: string
  readonly context: CallerContext
  /** Absent for a caller that the application authenticated by itself. */
  readonly authMode?: NonNullable<RequestContext['authMode']>
  /** When the API key expires, in milliseconds since 1970. Absent for one that does not, and for other credentials: a JWT says it itself. */
  readonly expiresAt?: number
  readonly can: {
    /** Read the audit trail. */
    readonly audit: boolean
    /** Everything: ALL ON * in plain text, and no DENY. Making credentials needs it. */
    readonly administer: boolean
  }
  readonly limits: {
    /** Maximum number of records of one page. */
    readonly page: number
    /** Maximum number of records of one query. */
    readonly query: number
  }
}

const describeCaller: Description<object, DescribedCaller> = {
  verb: 'Describe caller',
  members: [],
  async describe(_, { audit, caller, access, limits, findCredential }) {
    const { actor, actorType, roles, context = {}, request: { authMode, keyID } = {} } = caller
    const found = keyID === undefined ? undefined : await findCredential?.(keyID)
    return {
      vaultID: audit.vaultID,
      actor,
      actorType,
      ...(found === undefined ? {} : { name: found.name }),
      roles,
      context,
      ...(authMode === undefined ? {} : { authMode }),
      ...(authMode === 'API_KEY' && found?.expiresAt !== undefined ? { expiresAt: found.expiresAt } : {}),
      can: { audit: access.allowsAudit, administer: access.allowsEverything },
      limits: { page: limits.maxPageSize, query: limits.maxQueryRecords },
    }
  },
}

/** The schema, as far as a caller knows it. */
export interface DescribedSchema {
  readonly tables: readonly KnownTable[]
}

const describeSchema: Description<object, DescribedSchema> = {
  verb: 'Describe schema',
  members: [],
  describe: (_, { policy, caller, readSchema }) => ({ tables: describeKnown(policy, caller, readSchema()) }),
}

/** A query to explain. */
export interface ExplainQueryInput {
  readonly query: string | SqlQuery
  /** The values of its parameters: the first for `$1`. None for a query made by `sql`, which has them. */
  readonly values?: readonly QueryValue[] | undefined
}

const explainQuery: Description<ExplainQueryInput, QueryPlan> = {
  verb: 'Query',
  members: ['query', 'values'],
  notFoundStatus: 400,
  describe({ query, values }, { barrier, layout, access, limits }) {
    const text = readQuery(query, { layout, idName: RECORD_ID_NAME, limits }, values)
    return explain({ barrier, layout, access }, text, (table, column) => isKnownColumn(access.table(table), column))
  },
}

/** Every question, by its name. */
export const DESCRIPTIONS = { describeCaller, describeSchema, explainQuery } as const
