/** The option `--context`. */
import type { CommandOptions } from '../command.ts'
import { CommandFailure, EXIT } from '../failure.ts'

/** Returns the attributes of `--context`, for `ctx.name` of a policy. */
export function contextOf(options: CommandOptions): Record<string, string> | undefined {
  const pairs = options.list('context').map((text): [string, string] => {
    const end = text.indexOf('=')
    if (end > 0) return [text.slice(0, end), text.slice(end + 1)]
    throw new CommandFailure(EXIT.usage, '--context must be name=value.')
  })
  return pairs.length === 0 ? undefined : Object.fromEntries(pairs)
}
