/** The frame of every page, without which Next builds none. */

// biome-ignore lint/style/noDefaultExport: Next reads a layout from the default export.
export default function Layout({ children }) {
  return (
    <html lang="en">
      <body>{children}</body>
    </html>
  )
}
