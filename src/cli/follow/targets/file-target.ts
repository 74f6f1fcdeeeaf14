/** Events as lines of a file that others rotate, or on standard output. */
import { type FileHandle, open, stat } from 'node:fs/promises'
import type { Message, Target } from '../target.ts'

/** Lines that were written so long ago are in any copy that was made before the file was cut, in milliseconds. */
const COPIED_MS = 3000
/** Messages that are kept to be written again. `verifyExport` compares more than these. */
const MAX_KEPT = 10_000

/** An open file. */
interface Opened {
  readonly handle: FileHandle
  readonly inode: number
}

/** A batch that was written. */
interface Written {
  readonly text: string
  readonly messages: number
  readonly atMs: number
}

/**
 * Appends to a file. If it was renamed, the next message goes to a new file of the name. If it was copied and cut (`copytruncate`), the lines of the
 * last seconds are written again, because the copy can lack them.
 */
export function fileTarget(path: string): Target {
  let opened: Opened | undefined
  let written: Written[] = []
  let size = 0
  let last: Promise<unknown> = Promise.resolve()

  /** Runs one work after the other. */
  function inTurn<T>(work: () => Promise<T>): Promise<T> {
    const done = last.then(work)
    last = done.catch(() => {})
    return done
  }

  async function close(): Promise<void> {
    const { handle } = opened ?? {}
    opened = undefined
    await handle?.close()
  }

  async function current(): Promise<Opened> {
    const found = await stat(path).catch(() => undefined)
    if (opened !== undefined && found?.ino !== opened.inode) await close()
    if (opened === undefined) {
      const handle = await open(path, 'a+', 0o600)
      opened = { handle, inode: (await handle.stat()).ino }
      size = await wholeLines(handle)
    }
    return opened
  }

  /** Appends text, or nothing of it. */
  async function append({ handle }: Opened, text: string): Promise<void> {
    const before = (await handle.stat()).size
    try {
      await handle.appendFile(text)
      await handle.datasync()
    } catch (error) {
      // A full disk takes a part of the text, and half a line is not a line.
      await handle.truncate(before).catch(() => {})
      throw error
    }
    // Not what the file has now: it can have been cut since the last look.
    size += Buffer.byteLength(text)
  }

  /** Writes again what the copy of a file that was cut can lack. */
  async function repair(file: Opened): Promise<void> {
    const now = performance.now()
    const found = (await file.handle.stat()).size
    if (found >= size) {
      // What is that old was in the file a whole look before it can be cut.
      written = written.filter(({ atMs }) => now - atMs < COPIED_MS)
      return
    }
    // Between a look and a message, the file can be cut: then the message is alone in it, before those that it follows.
    if (found > 0) await file.handle.truncate(0)
    const expected = size
    size = 0
    try {
      await append(file, written.map(({ text }) => text).join(''))
    } catch (error) {
      size = expected
      throw error
    }
    written = written.map((batch) => ({ ...batch, atMs: now }))
  }

  return {
    name: path,
    deliver: (messages) =>
      inTurn(async () => {
        const file = await current()
        await repair(file)
        const text = messages.map((message) => `${message.text}\n`).join('')
        await append(file, text)
        keep({ text, messages: messages.length, atMs: performance.now() })
        await repair(file)
      }),
    tend: () =>
      inTurn(async () => {
        if (opened !== undefined) await repair(await current())
      }),
    reopen: () => void inTurn(close).catch(() => {}),
    close: () => inTurn(close),
  }

  function keep(batch: Written): void {
    written.push(batch)
    let count = written.reduce((sum, { messages }) => sum + messages, 0)
    while (count > MAX_KEPT) count -= written.shift()?.messages ?? count
  }
}

/** Cuts a line that a crash left without its end. Returns the size of the file. */
async function wholeLines(handle: FileHandle): Promise<number> {
  const { size } = await handle.stat()
  const piece = Buffer.alloc(64 * 1024)
  for (let end = size; end > 0; ) {
    const start = Math.max(0, end - piece.length)
    const { bytesRead } = await handle.read(piece, 0, end - start, start)
    const newline = piece.subarray(0, bytesRead).lastIndexOf(0x0a)
    if (newline >= 0) {
      if (start + newline + 1 < size) await handle.truncate(start + newline + 1)
      return start + newline + 1
    }
    end = start
  }
  if (size > 0) await handle.truncate(0)
  return 0
}

/** Writes to a stream, such as standard output. */
export function streamTarget(write: (text: string) => Promise<void>): Target {
  return {
    name: 'standard output',
    deliver: (messages: readonly Message[]) => write(messages.map(({ text }) => `${text}\n`).join('')),
  }
}
