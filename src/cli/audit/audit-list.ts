/** The work of `strongroom audit list`: pages of events up to a limit. */

import type { AuditEvent } from '../../index.ts'
import type { CommandOptions, CommandWork } from '../command.ts'
import type { AnySession } from '../config/any-vault.ts'
import { defined } from '../defined.ts'
import type { Row } from '../output/cells.ts'

type EventQuery = Parameters<AnySession['listEvents']>[0]
type Filter = EventQuery['filterOps']

const PAGE = 100
const DEFAULT_LIMIT = 25

export const auditList: CommandWork = async ({ options, output, loadConfig, openSession }) => {
  const limit = options.integer('limit', { min: 1, max: 1_000_000 }) ?? DEFAULT_LIMIT
  const { vault } = (await loadConfig()).config
  const filterOps = filterOf(options, vault.accountId ?? vault.id)
  const session = await openSession()
  const rows: Row[] = []
  let count = 0
  for (let afterOps: EventQuery['afterOps']; count < limit; ) {
    const page = { filterOps, limit: Math.min(PAGE, limit - count) }
    const { events, nextOps } = await session.listEvents(afterOps === undefined ? page : { ...page, afterOps })
    count += events.length
    // Lines need not wait for each other, as the rows of a table do.
    if (output.isJson) output.rows(events.map((event) => ({ ...event })))
    else for (const event of events) rows.push(rowOf(event))
    if (nextOps === undefined) break
    afterOps = nextOps
  }
  if (!output.isJson) output.rows(rows, 'No event.')
  return undefined
}

function rowOf({ context, request, response }: AuditEvent): Row {
  return {
    time: response.timestamp,
    actor: context.actor,
    purpose: context.purpose ?? '',
    action: request.actionType,
    code: response.code,
    resources: request.resources.join(' '),
    message: response.message,
  }
}

function filterOf(options: CommandOptions, accountID: string): Filter {
  const given = {
    actionType: options.text('action'),
    startTime: options.text('from'),
    endTime: options.text('until'),
  }
  const context = { actor: options.text('actor'), requestID: options.text('request'), purpose: options.text('for') }
  const about = options.list('about')
  // The vault checks the words, and names the one that is wrong.
  return {
    accountID,
    ...defined(given),
    context: defined(context),
    ...(about.length === 0 ? {} : { resourceIDs: about }),
  } as Filter
}
