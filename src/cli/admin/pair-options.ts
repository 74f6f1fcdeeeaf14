/** Options that are pairs, `name=value`: `--context`, and those of a change of the schema. */
import type { CommandOptions } from '../command.ts'
import { CommandFailure, EXIT } from '../failure.ts'

/** Returns the pairs of an option that can be given several times. `form` is how one is written, for the failure. */
export function pairsOf(options: CommandOptions, name: string, form: string): Record<string, string> {
  const pairs = options.list(name).map((text): [string, string] => {
    const end = text.indexOf('=')
    if (end > 0) return [text.slice(0, end), text.slice(end + 1)]
    throw new CommandFailure(EXIT.usage, `--${name} must be ${form}.`)
  })
  return Object.fromEntries(pairs)
}

/** Returns the attributes of `--context`, for `ctx.name` of a policy. */
export function contextOf(options: CommandOptions): Record<string, string> | undefined {
  const context = pairsOf(options, 'context', 'name=value')
  return Object.keys(context).length === 0 ? undefined : context
}
