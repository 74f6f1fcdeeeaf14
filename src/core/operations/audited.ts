/** The way of operations that are not yet values. */
import type { EventAction, ResourceType } from '../audit/event.ts'
import type { OperationContext, SessionContext } from '../execution/context.ts'
import { perform } from '../execution/perform.ts'
import type { Story } from '../execution/event-builder.ts'

/** What an operation does, and the word its errors begin with. */
export interface Deed {
  readonly action: EventAction
  readonly resourceType: ResourceType
  readonly verb: string
  /** The request's body, to be told with every value replaced. */
  body(): unknown
}

/** Every member of theirs. */
const TOLD = {
  table: 'name',
  column: 'name',
  columnGroup: 'name',
  id: 'value',
  ids: 'value',
  query: 'value',
  fields: 'columns',
  tokens: 'columns',
  redaction: ['DEFAULT', 'REDACTED', 'MASKED', 'PLAIN_TEXT'],
  tokenization: 'flag',
  byot: ['DISABLE', 'ENABLE', 'ENABLE_STRICT'],
  records: { value: 'value', table: 'name', column: 'name', columnGroup: 'name' },
} as const

/** Runs one public operation. */
export function audited<T>(
  session: SessionContext,
  { action, resourceType, verb, body }: Deed,
  work: (context: OperationContext, story: Story) => Promise<T>,
): Promise<T> {
  const operation = {
    action,
    resourceType,
    verb,
    told: TOLD,
    parse: () => undefined,
    execute: (context: OperationContext) => work(context, context.story),
  }
  return perform(session, operation, {
    get options() {
      return body()
    },
  })
}
