/** Everything about a vault that is unsafe or will hurt: `doctor`. */
import type { CommandRun, CommandWork } from '../command.ts'
import type { LoadedConfig } from '../config/load-config.ts'
import { EXIT, sentenceOf } from '../failure.ts'
import { findInFiles } from './file-findings.ts'
import type { Finding } from './finding.ts'
import { findInPolicy, findInSettings, findInStorage } from './setting-findings.ts'
import { findInVault } from './vault-findings.ts'

/** The work of `strongroom doctor`. */
export const doctor: CommandWork = async (run) => {
  const loaded = await run.loadConfig()
  const findings = [
    ...findInSettings(loaded),
    ...(await findInFiles(loaded)),
    ...(await findInPolicy(loaded)),
    ...(await openedFindings(run, loaded)),
  ]
  const sorted = [...findings].sort((left, right) => left.level.localeCompare(right.level))
  if (run.output.isJson) run.output.rows(sorted)
  else run.output.result(sorted, (list) => list.map(lineOf))
  const unsafe = findings.filter(({ level }) => level === 'unsafe').length
  run.output.note(findings.length === 0 ? 'Nothing to mend.' : `${unsafe} unsafe, ${findings.length - unsafe} warnings.`)
  return unsafe === 0 ? undefined : EXIT.found
}

/** A vault that does not open, or cannot be looked at, is itself a finding, and hides no other one. */
async function openedFindings(run: CommandRun, loaded: LoadedConfig): Promise<readonly Finding[]> {
  let remedy = 'the vault does not open: mend this first'
  try {
    const vault = await run.openVault()
    remedy = 'the vault opens, but not all of it was looked at: mend this first'
    return [...(await findInStorage(loaded, run.environment)), ...(await findInVault(vault, loaded.config, run.signal))]
  } catch (error) {
    run.signal.throwIfAborted()
    return [{ level: 'unsafe', finding: sentenceOf(error), remedy }]
  }
}

function lineOf({ level, finding, remedy }: Finding): string {
  return `${level.padEnd(8)} ${finding.replace(/\.$/, '')}: ${remedy}`
}
