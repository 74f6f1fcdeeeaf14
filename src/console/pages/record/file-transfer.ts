/** Files between this tab and the vault. Their content goes through the memory of the tab, and no address has a ticket in it. */
import { performFile } from '../../app/api.ts'

/** Where a file is. */
export interface FilePlace {
  readonly table: string
  readonly column: string
  readonly id: string
}

/** Saves a file where the browser saves files. */
export async function downloadFile(place: FilePlace): Promise<void> {
  const response = await performFile(`openFile?${queryOf(place)}`, { method: 'GET' })
  const url = URL.createObjectURL(await response.blob())
  const link = document.createElement('a')
  link.href = url
  link.download = nameIn(response.headers.get('content-disposition')) ?? place.column
  link.click()
  URL.revokeObjectURL(url)
}

/** Uploads a file in place of the one that is there. */
export async function uploadFile(place: FilePlace, file: File): Promise<void> {
  const name = encodeURIComponent(file.name).replace(/['()*]/g, (one) => `%${one.charCodeAt(0).toString(16)}`)
  await performFile(`uploadFile?${queryOf(place)}`, {
    headers: {
      'content-type': 'application/octet-stream',
      'content-disposition': `attachment; filename*=UTF-8''${name}`,
    },
    body: file,
  })
}

function queryOf({ table, column, id }: FilePlace): string {
  return new URLSearchParams({ table, column, id }).toString()
}

/** Returns the name in a header, of the form of RFC 8187 first. */
function nameIn(disposition: string | null): string | undefined {
  const encoded = /filename\*=UTF-8''([^;]+)/i.exec(disposition ?? '')?.[1]
  if (encoded !== undefined) return decodeURIComponent(encoded)
  return /filename="([^"]*)"/i.exec(disposition ?? '')?.[1]
}
