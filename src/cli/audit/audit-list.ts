/** The work of `strongroom audit list`: pages of events up to a limit. */
import type { CommandOptions, CommandWork } from '../command.ts'
import type { AnySession } from '../config/any-vault.ts'

type EventQuery = Parameters<AnySession['listEvents']>[0]
type Filter = EventQuery['filterOps']

const PAGE = 100
const DEFAULT_LIMIT = 25

export const auditList: CommandWork = async ({ options, output, loadConfig, openSession }) => {
  const limit = options.integer('limit', { min: 1, max: 1_000_000 }) ?? DEFAULT_LIMIT
  const { vault } = (await loadConfig()).config
  const filterOps = filterOf(options, vault.accountId ?? vault.id)
  const session = await openSession()
  const events: Awaited<ReturnType<AnySession['listEvents']>>['events'][number][] = []
  for (let afterOps: EventQuery['afterOps']; events.length < limit; ) {
    const page = { filterOps, limit: Math.min(PAGE, limit - events.length) }
    const { events: found, nextOps } = await session.listEvents(afterOps === undefined ? page : { ...page, afterOps })
    for (const event of found) events.push(event)
    if (nextOps === undefined) break
    afterOps = nextOps
  }
  output.rows(
    output.isJson
      ? events.map((event) => ({ ...event }))
      : events.map(({ context, request, response }) => ({
          time: response.timestamp,
          actor: context.actor,
          action: request.actionType,
          code: response.code,
          resources: request.resources.join(' '),
          message: response.message,
        })),
    'No event.',
  )
  return undefined
}

function filterOf(options: CommandOptions, accountID: string): Filter {
  const given = {
    actionType: options.text('action'),
    startTime: options.text('from'),
    endTime: options.text('until'),
  }
  const context = { actor: options.text('actor'), requestID: options.text('request') }
  const about = options.list('about')
  // The vault checks the words, and names the one that is wrong.
  return {
    accountID,
    ...present(given),
    context: present(context),
    ...(about.length === 0 ? {} : { resourceIDs: about }),
  } as Filter
}

function present(members: Readonly<Record<string, string | undefined>>): Record<string, string> {
  return Object.fromEntries(Object.entries(members).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])))
}
