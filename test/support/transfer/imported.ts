/** Imports as tests run them: sources from texts, and what they leave in a vault. */
import {
  type ImportOptions,
  type ImportSession,
  type ImportSummary,
  importRecords,
  type Reject,
} from '../../../src/transfer/index.ts'

/** Yields the bytes of a text, cut after every `size` bytes. */
export async function* bytesOf(text: string | Uint8Array, size = 7): AsyncGenerator<Uint8Array> {
  const bytes = typeof text === 'string' ? new TextEncoder().encode(text) : text
  for (let at = 0; at < bytes.length; at += size) yield bytes.slice(at, at + size)
}

/** What an import did, with its rejects. */
export interface Imported extends ImportSummary {
  readonly rejects: readonly Reject[]
}

/** Imports a text. */
export async function importText(
  session: ImportSession,
  text: string | Uint8Array,
  options: Omit<ImportOptions, 'source' | 'onReject' | 'format'> & Partial<Pick<ImportOptions, 'format'>>,
): Promise<Imported> {
  const rejects: Reject[] = []
  const summary = await importRecords(session, {
    format: 'csv',
    ...options,
    source: bytesOf(text),
    onReject: (reject) => rejects.push(reject),
  })
  return { ...summary, rejects }
}
