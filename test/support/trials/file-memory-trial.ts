/** Trial: long files are uploaded and opened in a process of their own. Its resident memory rises by less than a bound, whatever their length. */
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { builtProcess } from '../cli/built-command.ts'
import type { FileMemoryProcess } from './file-memory-process.ts'
import type { TrialReport } from './report.ts'

const run = promisify(execFile)

/** Bounds of the rise in MiB: of one file at a time, and of eight at once. */
const ONE_MEBIBYTES = 96
const MANY_MEBIBYTES = 256

/** Runs the process. Its figure is the number of MiB that were uploaded and opened. */
export async function runFileMemoryTrial(trial: Omit<FileMemoryProcess, 'folder'>): Promise<TrialReport> {
  const folder = mkdtempSync(join(tmpdir(), 'strongroom-files-'))
  try {
    const script = builtProcess(join(import.meta.dirname, 'file-memory-process.ts'))
    const { stdout } = await run(process.execPath, ['--expose-gc', script, JSON.stringify({ ...trial, folder })])
    const { risen }: { readonly risen: readonly number[] } = JSON.parse(stdout)
    const summaries: string[] = []
    const failures: string[] = []
    for (const [position, files] of trial.files.entries()) {
      const mebibytes = risen[position] ?? Number.POSITIVE_INFINITY
      const bound = files === 1 ? ONE_MEBIBYTES : MANY_MEBIBYTES
      const summary = `${files} of ${trial.mebibytes} MiB in the ${trial.store}: ${mebibytes.toFixed(0)} MiB`
      summaries.push(summary)
      if (mebibytes >= bound) failures.push(`Resident memory rose by ${bound} MiB or more: ${summary}.`)
    }
    return { figure: trial.mebibytes * trial.files.length, failures, summary: summaries.join('; ') }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
