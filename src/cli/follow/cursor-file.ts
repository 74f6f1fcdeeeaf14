/**
 * The file of a cursor. It is beside the follower and not in the vault: a vault that is restored from a backup would bring an older cursor back with
 * it, and a follower only needs to read the vault.
 */
import { readFile } from 'node:fs/promises'
import type { AnyVault } from '../config/any-vault.ts'
import { CommandFailure, codeOf, EXIT } from '../failure.ts'
import { writeNewFile } from '../output/new-file.ts'

type Following = NonNullable<Parameters<AnyVault['followAudit']>[0]>

/** A position in the trail of a vault. */
export type Cursor = NonNullable<Following['after']>

/** Where a cursor is kept. */
export interface CursorFile {
  /** Returns the cursor; undefined before the first was written. */
  read(): Promise<Cursor | undefined>
  /** Resolves when the cursor would outlast a loss of power. Whenever the process ends, the file has this one or the one before. */
  write(cursor: Cursor): Promise<void>
}

export function createCursorFile(path: string, vaultID: string): CursorFile {
  return {
    async read() {
      const text = await readFile(path, 'utf8').catch((error: unknown) => {
        if (codeOf(error) === 'ENOENT') return undefined
        throw error
      })
      return text === undefined ? undefined : parse(text, path, vaultID)
    },
    write: (cursor) =>
      writeNewFile(path, [`${JSON.stringify({ strongroom: 'audit-cursor', v: 1, cursor })}\n`], { replaces: true }),
  }
}

/** The vault checks the cursor itself. */
function parse(text: string, path: string, vaultID: string): Cursor {
  const cursor = cursorOf(text)
  if (cursor?.vaultID === vaultID) return cursor
  const problem = cursor === undefined ? 'is not the cursor of a follower' : 'is the cursor of a follower of another vault'
  throw new CommandFailure(
    EXIT.config,
    `${path} ${problem}. Restore it, or name another file with --cursor: then every event is delivered again.`,
  )
}

function cursorOf(text: string): Cursor | undefined {
  try {
    const { strongroom, v, cursor } = JSON.parse(text)
    return strongroom === 'audit-cursor' && v === 1 && typeof cursor?.vaultID === 'string' ? cursor : undefined
  } catch {
    return undefined
  }
}
