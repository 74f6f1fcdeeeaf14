/** Copies to the clipboard, by a gesture of the caller only. */
import { announce } from '../app/announce.ts'
import { type Cell, textOf } from './cell.ts'

/** Copies a text, and says so. */
export async function copyText(text: string, name: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text)
    announce(`${name} copied`)
  } catch {
    announce('The browser does not let this page copy')
  }
}

/** Copies a plain value. What is masked, redacted or revealed for a while is not copied: a clipboard does not forget. */
export async function copyCell(cell: Cell, column: string): Promise<void> {
  if (cell.state === 'plain') await copyText(textOf(cell.value), column)
  else announce('Only plain values can be copied')
}
