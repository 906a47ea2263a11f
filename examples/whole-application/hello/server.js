const { createServer } = require("node:http");
createServer((request, response) => {
  console.log(JSON.stringify({ severity: "NOTICE", message: "ship sighted", path: request.url }));
  response.end(`ahoy from ${process.env.K_REVISION}\n`);
}).listen(process.env.PORT, "0.0.0.0");
