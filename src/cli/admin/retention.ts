/** What is kept, and for how long: `sweep`, and `hold place`, `list` and `lift`. */
import type { CommandWork } from '../command.ts'
import { callerOf } from '../config/open-session.ts'
import { CommandFailure, EXIT } from '../failure.ts'
import { timeOf } from '../output/cells.ts'
import { watch } from '../watch.ts'
import { expiryOf } from './credentials.ts'
import { assertSure } from './input.ts'

/** The work of `strongroom sweep`. */
export const sweep: CommandWork = async (run) => {
  const vault = await run.openVault()
  run.output.result(await vault.sweep(watch(run, 'expired')), ({ expired, held, transients, files, credentials }) => [
    ...Object.entries(expired).map(([rule, count]) => `${rule}: ${count} expired.`),
    ...(held === 0 ? [] : [`${held} have expired and stay, under legal hold.`]),
    `Removed ${transients} expired transient values, the contents of ${files} files, and ${credentials} expired credentials and revocations.`,
  ])
  return undefined
}

/** The work of `strongroom hold place`. */
export const placeHold: CommandWork = async (run) => {
  const { args, options, output } = run
  const [name = '', ...rest] = args
  const ids = rest.filter((one) => one !== undefined)
  const reason = options.text('reason')
  if (reason === undefined) throw new CommandFailure(EXIT.usage, 'Specify --reason.')
  const until = expiryOf(options.text('until'), '--until')
  const [id = ''] = ids
  const isSubject = options.isSet('subject')
  if (isSubject && ids.length !== 1) throw new CommandFailure(EXIT.usage, 'Specify the id of one subject with --subject.')
  const of = isSubject ? { subject: { name, id } } : { table: name, ids }
  const vault = await run.openVault()
  const hold = await vault.holds.place({ ...of, reason, ...(until !== undefined && { until }) }, await callerOf(vault, run))
  output.result(hold, () => hold.id)
  return undefined
}

/** The work of `strongroom hold list`. */
export const listHolds: CommandWork = async ({ openVault, output }) => {
  const holds = await (await openVault()).holds.list()
  output.rows(
    holds.map(({ id, of, reason, placedAt, placedBy, until, hasEnded }) => ({
      id,
      of: 'subject' in of ? `${of.subject.name} ${of.subject.id}` : `${of.ids.length} in ${of.table}`,
      placed: timeOf(placedAt),
      by: placedBy,
      until: until === undefined ? '' : timeOf(until),
      state: hasEnded ? 'ended' : 'holds',
      reason,
    })),
    'There are no legal holds.',
  )
  return undefined
}

/** The work of `strongroom hold lift`. */
export const liftHold: CommandWork = async (run) => {
  const { args, options, output } = run
  const [id = ''] = args
  const vault = await run.openVault()
  const caller = await callerOf(vault, run)
  await assertSure(`Lift hold ${id}? What it holds can be deleted then.`, options.isSet('yes'))
  await vault.holds.lift(id, caller)
  output.result({ id }, () => `Hold ${id} is lifted.`)
  return undefined
}
