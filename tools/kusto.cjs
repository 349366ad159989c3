// Analyses Kusto queries with Microsoft's language service.
// In:  {"tables": {name: "(column: type, …)"}, "queries": {name: text}}    Out: {name: ["Error at 18: …", …]}
const fs = require('fs')
const path = require('path')
const vm = require('vm')

const folder = process.argv[2]
for (const file of ['bridge.min.js', 'Kusto.Language.Bridge.min.js']) {
  vm.runInThisContext(fs.readFileSync(path.join(folder, file), 'utf8'), file) // browser scripts, not modules
}
const kusto = globalThis.Kusto.Language
const { tables, queries } = JSON.parse(fs.readFileSync(0, 'utf8'))
const symbols = Object.entries(tables).map(([name, columns]) => kusto.Symbols.TableSymbol.From(columns).WithName(name))
const workspace = kusto.GlobalState.Default.WithDatabase(new kusto.Symbols.DatabaseSymbol.ctor('workspace', symbols))

function findings(text) {
  const found = kusto.KustoCode.ParseAndAnalyze(text, workspace).GetDiagnostics()
  return Array.from({ length: found.Count }, (_, at) => found.getItem(at)).map(
    (one) => `${one.Severity} at ${one.Start}: ${one.Message}`,
  )
}

const diagnostics = Object.fromEntries(Object.entries(queries).map(([name, text]) => [name, findings(text)]))
process.stdout.write(JSON.stringify(diagnostics))
