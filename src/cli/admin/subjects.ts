/** The people that records are about: `subject find`, `export`, `forget` and `forgotten`. */
import { readFile } from 'node:fs/promises'
import { isVaultError } from '../../index.ts'
import type { CommandRun, CommandWork } from '../command.ts'
import { callerOf } from '../config/open-session.ts'
import { readSigner } from '../config/read-signer.ts'
import { CommandFailure, EXIT } from '../failure.ts'
import { writeLines } from '../output/write-lines.ts'
import { assertSure } from './input.ts'

/** A subject, as a line names it, or as `subject forgotten` lists it. */
interface NamedSubject {
  readonly kind: string
  readonly id: string
}

/** The work of `strongroom subject find`. */
export const findSubject: CommandWork = async (run) => {
  const { kind, id } = namedIn(run)
  const vault = await run.openVault()
  const { tables } = await vault.subjects.find(await callerOf(vault, run), kind, id)
  run.output.rows(Object.entries(tables).map(([table, records]) => ({ table, records })))
  return undefined
}

/** The work of `strongroom subject export`. */
export const exportSubject: CommandWork = async (run) => {
  const { kind, id } = namedIn(run)
  const { options, output, signal } = run
  const vault = await run.openVault()
  const asked = { contents: options.isSet('contents'), events: options.isSet('events'), signal }
  await writeLines(output, options.text('out'), vault.subjects.export(await callerOf(vault, run), kind, id, asked))
  return undefined
}

/** The work of `strongroom subject forget`. */
export const forgetSubject: CommandWork = async (run) => {
  const { options, output } = run
  const file = options.text('from')
  const subjects = file === undefined ? [namedIn(run)] : await readSubjects(file)
  const reason = options.text('reason') ?? (file === undefined ? undefined : 'forgotten again after a restore')
  if (reason === undefined) throw new CommandFailure(EXIT.usage, 'Specify --reason.')
  const signer = await readSigner(run)
  const vault = await run.openVault()
  const caller = await callerOf(vault, run)
  const what = file === undefined ? 'this subject' : `${subjects.length} subjects`
  await assertSure(`Forget ${what} for ever?`, options.isSet('yes'))
  let absent = 0
  for (const { kind, id } of subjects) {
    try {
      const receipt = await vault.subjects.forget(caller, kind, id, { reason, ...(signer !== undefined && { signer }) })
      await output.piece(`${JSON.stringify(receipt)}\n`)
    } catch (error) {
      // A backup from before it was inserted has it not.
      if (file === undefined || !isVaultError(error, 'not_found')) throw error
      absent++
    }
  }
  if (absent > 0) output.note(`${absent} of them the vault does not have.`)
  return undefined
}

/** The work of `strongroom subject forgotten`. */
export const listForgotten: CommandWork = async ({ options, output, openVault }) => {
  const text = options.text('since')
  const since = text === undefined ? 0 : Date.parse(text)
  if (!Number.isSafeInteger(since)) throw new CommandFailure(EXIT.usage, '--since must be a time, such as 2026-01-31T12:00:00Z.')
  const vault = await openVault()
  async function* lines(): AsyncGenerator<string> {
    for await (const one of vault.subjects.forgotten({ since })) yield JSON.stringify(one)
  }
  await writeLines(output, options.text('out'), lines())
  return undefined
}

function namedIn({ args: [kind, id] }: Pick<CommandRun, 'args'>): NamedSubject {
  if (kind !== undefined && id !== undefined) return { kind, id }
  throw new CommandFailure(EXIT.usage, 'Specify a subject of the schema, and the id of its record.')
}

/** Returns the subjects of a file that `subject forgotten` wrote. */
async function readSubjects(file: string): Promise<readonly NamedSubject[]> {
  const lines = (await readFile(file, 'utf8')).split('\n').filter((line) => line !== '')
  return lines.map((line, index) => {
    const { kind, id } = parsed(line)
    if (typeof kind === 'string' && typeof id === 'string') return { kind, id }
    throw new CommandFailure(EXIT.usage, `Line ${index + 1} of ${file} is not one that subject forgotten wrote.`)
  })
}

function parsed(line: string): { readonly kind?: unknown; readonly id?: unknown } {
  try {
    const json: unknown = JSON.parse(line)
    return typeof json === 'object' && json !== null ? json : {}
  } catch {
    return {}
  }
}
