/** The work of `strongroom audit follow`. */
import { access } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import process from 'node:process'
import type { CommandWork } from '../command.ts'
import { CommandFailure, EXIT } from '../failure.ts'
import { createCursorFile } from './cursor-file.ts'
import { FORM_NAMES, FORMS } from './forms/form.ts'
import { openTarget } from './open-target.ts'
import { type FollowLog, runFollow } from './run-follow.ts'

export const auditFollow: CommandWork = async ({ options, output, signal, environment, openVault }) => {
  const required = (name: string): string => {
    const value = options.text(name)
    if (value === undefined)
      throw new CommandFailure(EXIT.usage, `Name ${name === 'to' ? 'a target with --to' : 'a file with --cursor'}.`)
    return value
  }
  const [to, cursor] = [required('to'), required('cursor')]
  const form = FORMS[options.word('form', FORM_NAMES) ?? 'event']
  const pollMs = options.integer('poll', { min: 10, max: 60_000 })
  // A line for each, as programs that collect logs read them.
  const log: FollowLog = (level, message, details = {}) =>
    output.note(JSON.stringify({ level, time: new Date().toISOString(), msg: message, ...details }))
  const target = await openTarget({
    to,
    form,
    options,
    source: { environment, pathOf: (path) => resolve(path) },
    write: (text) =>
      output.piece(text).catch((error: unknown) => {
        // Who read it has ended, and does not come back.
        throw new CommandFailure(EXIT.unavailable, 'Standard output cannot be written.', { cause: error })
      }),
    onCut: () => log('warn', 'a message is longer than a datagram, and was cut'),
  })
  await access(dirname(resolve(cursor)))
  const vault = await openVault()
  const reopen = () => target.reopen?.()
  process.on('SIGHUP', reopen)
  try {
    log('info', 'follows', { vault: vault.id, target: target.name })
    const { failures } = await runFollow({
      vault,
      target,
      form,
      cursorFile: createCursorFile(resolve(cursor), vault.id),
      signal,
      log,
      ...(pollMs === undefined ? {} : { pollMs }),
    })
    return failures === 0 ? EXIT.done : EXIT.found
  } finally {
    process.off('SIGHUP', reopen)
  }
}
