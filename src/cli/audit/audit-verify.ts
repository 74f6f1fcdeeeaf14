/** The work of `strongroom audit verify`: of the vault by its keys, or of files without any. */
import { readFile } from 'node:fs/promises'
import { verifyExport } from '../../audit-verifier/index.ts'
import type { CommandWork } from '../command.ts'
import { CommandFailure, EXIT, type ExitCode } from '../failure.ts'
import type { Output } from '../output/output.ts'
import { linesOf, readCheckpoints } from './audit-files.ts'

/** What both verifications return. */
interface Verification {
  readonly ok: boolean
  readonly eventCount: number
  readonly firstFailure?: { readonly reason: string; readonly line?: number }
}

export const auditVerify: CommandWork = async (run) => {
  const { options, output } = run
  const exported = options.text('export')
  const delivered = options.list('delivered')
  const keyFiles = options.list('publicKey')
  const checkpoints = await readCheckpoints(options.list('checkpoint'))
  if (exported !== undefined && delivered.length > 0)
    throw new CommandFailure(EXIT.usage, '--export and --delivered cannot be combined. Verify one after the other.')
  const files = exported === undefined ? delivered : [exported]
  if (files.length === 0) {
    if (keyFiles.length > 0)
      throw new CommandFailure(EXIT.usage, '--public-key needs --export or --delivered: the vault does not verify signatures.')
    const vault = await run.openVault()
    const onProgress = output.progress('events')
    return print(output, await vault.verifyAudit({ checkpoints, signal: run.signal, onProgress }), checkpoints.length)
  }
  const keys = await Promise.all(keyFiles.map(readKey))
  const given = { checkpoints, delivered: exported === undefined, ...(keys.length === 0 ? {} : { keys }) }
  const onProgress = output.progress('lines')
  const found = await verifyExport(counted(linesOf(files), onProgress, run.signal), given)
  return print(output, found, checkpoints.length)
}

function print(output: Output, found: Verification, checkpoints: number): ExitCode {
  output.result(found, ({ ok, eventCount, firstFailure }) => {
    if (ok) {
      const without = 'no checkpoint compared, without which events removed from the ends of chains are not noticed'
      const compared = checkpoints === 0 ? without : `${checkpoints} checkpoint${checkpoints === 1 ? '' : 's'} compared`
      return `Intact: ${eventCount.toLocaleString('en-US')} events, ${compared}.`
    }
    const place = firstFailure?.line === undefined ? '' : ` (line ${firstFailure.line})`
    return `Not intact: ${firstFailure?.reason ?? ''}${place}`
  })
  return found.ok ? EXIT.done : EXIT.found
}

async function readKey(text: string) {
  const [, keyId, file] = /^([^=]+)=(.+)$/.exec(text) ?? []
  if (keyId === undefined || file === undefined)
    throw new CommandFailure(EXIT.usage, '--public-key must be the name of a key, =, and its file: audit-2026=audit.pub.')
  return { keyId, publicKey: await readFile(file, 'utf8') }
}

async function* counted(
  lines: AsyncIterable<string>,
  onProgress: ReturnType<Output['progress']>,
  signal: AbortSignal,
): AsyncGenerator<string> {
  let done = 0
  for await (const line of lines) {
    signal.throwIfAborted()
    if (++done % 1000 === 0) onProgress({ done })
    yield line
  }
}
