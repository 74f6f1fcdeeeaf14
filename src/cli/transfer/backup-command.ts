/** The work of `strongroom backup`. */
import { readFile } from 'node:fs/promises'
import { backupVault } from '../../transfer/index.ts'
import type { CommandWork } from '../command.ts'
import { CommandFailure, EXIT } from '../failure.ts'
import { writeNewFile } from '../output/new-file.ts'
import { watch } from '../watch.ts'
import { noteContents, withStorage } from './copied-vault.ts'

export const backupCommand: CommandWork = async (run) => {
  const { options, output } = run
  const [file = ''] = run.args
  const isStandardOutput = file === '-'
  const manifestFile = options.text('manifest') ?? (isStandardOutput ? undefined : `${file}.manifest`)
  const [since, recipient] = [options.text('since'), options.text('recipient')]
  const given = {
    ...(since !== undefined && { since: await readFile(since) }),
    ...(recipient !== undefined && { recipient: await readFile(recipient, 'utf8') }),
  }
  if (manifestFile === file) throw new CommandFailure(EXIT.usage, 'The backup and its manifest must be two files.')
  const bytes = await withStorage(run, async (from) => {
    const backup = backupVault({ from, ...given, ...watch(run, 'rows') })
    let count = 0
    async function* counted() {
      for await (const part of backup) {
        count += part.length
        yield part
      }
    }
    if (isStandardOutput) for await (const part of counted()) await output.piece(part)
    else await writeNewFile(file, counted())
    const manifest = await backup.manifest()
    // What is there after the backup is the manifest of it, also where the one of an earlier try was left.
    if (manifestFile !== undefined) await writeNewFile(manifestFile, [manifest], { replaces: true })
    return count
  })
  await noteContents(run, 'Copy that store after this, as docs/backup.md says.')
  if (isStandardOutput) return EXIT.done
  output.result({ file, bytes, manifest: manifestFile ?? null, since: since ?? null }, () => [
    `Wrote ${bytes.toLocaleString('en-US')} bytes to ${file}.`,
    `${manifestFile} is for the next backup, with --since.`,
  ])
  return EXIT.done
}
