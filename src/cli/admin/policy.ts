/** The policy of the configuration: `policy check` and `policy explain`. Both need no storage and no key. */
import { type Action, isVaultError } from '../../index.ts'
import type { CommandWork } from '../command.ts'
import type { Config } from '../config/define-config.ts'
import { EXIT } from '../failure.ts'
import type { Row } from '../output/cells.ts'
import { openInMemory } from './memory-vault.ts'
import { contextOf } from './pair-options.ts'

/** The work of `strongroom policy check`. */
export const checkPolicy: CommandWork = async ({ loadConfig, output }) => {
  const { config } = await loadConfig()
  const findings = await findFaults(config)
  output.rows(findings, 'Every statement is valid, and decides something.')
  return findings.length === 0 ? undefined : EXIT.found
}

/** A statement that is wrong or decides nothing. */
interface PolicyFault extends Row {
  readonly role: string
  readonly statement: number
  readonly finding: string
}

/** What each kind of finding means. */
const MEANINGS: Readonly<Record<string, string>> = {
  'names nothing': 'decides nothing: no column that it names has tokens',
  'never true': 'decides nothing: its condition is never true',
  denied: 'decides nothing: a DENY of the same role takes all of it away',
  repeated: 'decides nothing: other statements of the role say all of it',
}

/** Returns the faults of all statements, not only the first one, in the order of roles and statements. */
export async function findFaults(config: Config): Promise<readonly PolicyFault[]> {
  try {
    const vault = await openInMemory(config)
    const idle = vault.checkPolicy()
    await vault.close()
    return idle.map(({ role, position, text, finding }) => ({
      role,
      statement: position,
      finding: `${MEANINGS[finding] ?? finding}: ${text}`,
    }))
  } catch (error) {
    if (!isVaultError(error)) throw error
    const faults = await faultsOfEach(config)
    // One that no statement has alone, such as too many conditions of a table.
    return faults.length > 0 ? faults : [{ role: '', statement: 0, finding: error.message }]
  }
}

/** A statement that is always valid. Before another one, it keeps the number of that one in errors. */
const FILLER = 'DENY READ ON *'

async function faultsOfEach(config: Config): Promise<readonly PolicyFault[]> {
  const faults: PolicyFault[] = []
  for (const [role, statements] of Object.entries(config.vault.policy ?? {})) {
    for (const [index, statement] of statements.entries()) {
      try {
        const alone = await openInMemory(config, { [role]: [...Array.from({ length: index }, () => FILLER), statement] })
        await alone.close()
      } catch (error) {
        if (!isVaultError(error)) throw error
        faults.push({ role, statement: index + 1, finding: error.message.replace(/^Invalid policy: /, '') })
      }
    }
  }
  return faults
}

/** The work of `strongroom policy explain`. */
export const explainPolicy: CommandWork = async ({ args, loadConfig, options, output }) => {
  const [role = '', action = '', table = ''] = args
  const { config } = await loadConfig()
  const context = contextOf(options) ?? {}
  const vault = await openInMemory(config)
  try {
    const caller = { actor: 'policy explain', actorType: 'USER', roles: role.split(','), context } as const
    // The vault refuses words that are no action, and tables that the schema does not have.
    const explanation = vault.explain(caller, action.toUpperCase() as Action, table)
    if (output.isJson) output.result(explanation, () => '')
    else
      output.rows(
        explanation.columns.map(({ column, decision, level, highestLevel, statements }) => ({
          column,
          decision,
          'shown at least': level ?? 'hidden',
          'at most': highestLevel ?? 'hidden',
          because: statements.map((one) => `${one.role} ${one.position} (${one.applies.toLowerCase()}): ${one.text}`).join('; '),
        })),
      )
  } finally {
    await vault.close()
  }
  return undefined
}
